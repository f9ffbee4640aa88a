//! The ports that tasks have opened, and those that are published under the name of a service.

use super::request::Answer;
use std::collections::BTreeMap;

/// What the names of all ports begin with.
const SCHEME: &str = "netloom:";

/// Ports and services of a job.
pub(super) struct Names {
    /// What tells this job's ports from others'.
    job: String,
    /// Ports that have been opened so far.
    opened: u32,
    /// Those that are open, and whose they are.
    ports: BTreeMap<String, u32>,
    /// The port of each service, and the task that has published it.
    services: BTreeMap<String, (String, u32)>,
}

impl Names {
    /// Of a job with this name.
    pub(super) fn new(job: &str) -> Self {
        Names { job: job.into(), opened: 0, ports: BTreeMap::new(), services: BTreeMap::new() }
    }

    pub(super) fn open(&mut self, by: u32) -> Answer {
        self.opened += 1;
        let name = format!("{SCHEME}{}:{by}:{}", self.job, self.opened);
        self.ports.insert(name.clone(), by);
        Answer::Name(name)
    }

    pub(super) fn close(&mut self, by: u32, port: &str) -> Answer {
        match self.ports.get(port) {
            Some(&owner) if owner == by => {
                self.ports.remove(port);
                Answer::Done
            }
            Some(_) => Answer::Refused(format!("another process has opened port `{port}`")),
            None => self.find(port),
        }
    }

    pub(super) fn find(&self, port: &str) -> Answer {
        let mut parts = port.strip_prefix(SCHEME).unwrap_or_default().split(':');
        match (self.ports.contains_key(port), parts.next()) {
            (true, _) => Answer::Done,
            (_, None | Some("")) => Answer::Refused(format!("`{port}` is no name of a port")),
            (_, Some(job)) if job != self.job => Answer::Refused(format!(
                "port `{port}` is another job's: processes of one `netloom exec` alone can be connected"
            )),
            _ => Answer::Refused(format!("port `{port}` is not open, or not any more")),
        }
    }

    pub(super) fn publish(&mut self, by: u32, [service, port]: [String; 2]) -> Answer {
        if self.services.contains_key(&service) {
            return Answer::Refused(format!("service `{service}` is published already"));
        }
        self.services.insert(service, (port, by));
        Answer::Done
    }

    pub(super) fn unpublish(&mut self, [service, port]: [String; 2]) -> Answer {
        match self.services.get(&service) {
            Some((of, _)) if *of == port => {
                self.services.remove(&service);
                Answer::Done
            }
            Some((of, _)) => Answer::Refused(format!("service `{service}` is published with port `{of}`")),
            None => Answer::Refused(format!("service `{service}` is not published")),
        }
    }

    pub(super) fn lookup(&self, service: &str) -> Answer {
        match self.services.get(service) {
            Some((port, _)) => Answer::Name(port.clone()),
            None => Answer::Refused(format!("service `{service}` is not published")),
        }
    }

    /// A task has ended: nobody can connect to its ports.
    pub(super) fn ended(&mut self, task: u32) {
        self.ports.retain(|_, &mut owner| owner != task);
        self.services.retain(|_, (_, owner)| *owner != task);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn is_refused(answer: Answer, part: &str) -> bool {
        matches!(answer, Answer::Refused(why) if why.contains(part))
    }

    #[test]
    fn ports_belong_to_their_task_and_end_with_it() {
        let mut names = Names::new("j");
        let (Answer::Name(first), Answer::Name(second)) = (names.open(1), names.open(1)) else { panic!() };
        assert!(first != second && names.find(&first) == Answer::Done);
        assert!(is_refused(names.close(2, &first), "another process"));
        assert_eq!(names.close(1, &first), Answer::Done);
        assert!(is_refused(names.find(&first), "not open") && is_refused(names.close(1, &first), "not open"));
        assert!(is_refused(names.find("netloom:other:1:1"), "another job's"));
        assert!(is_refused(names.find("x"), "no name of a port") && is_refused(names.find(""), "no name"));
        names.ended(1);
        assert!(is_refused(names.find(&second), "not open"));
    }

    #[test]
    fn a_service_has_one_port_until_it_is_published_no_more() {
        let mut names = Names::new("j");
        let pair = |service: &str, port: &str| [service.to_string(), port.to_string()];
        assert!(is_refused(names.lookup("s"), "not published"));
        assert_eq!(names.publish(3, pair("s", "p")), Answer::Done);
        assert!(is_refused(names.publish(4, pair("s", "q")), "already"));
        assert_eq!(names.lookup("s"), Answer::Name("p".into()));
        assert!(is_refused(names.unpublish(pair("s", "q")), "with port `p`"));
        assert_eq!(names.unpublish(pair("s", "p")), Answer::Done);
        assert!(is_refused(names.unpublish(pair("s", "p")), "not published"));
        assert_eq!(names.publish(3, pair("s", "p")), Answer::Done);
        names.ended(3);
        assert!(is_refused(names.lookup("s"), "not published"));
    }
}
