//! Short messages: all arrive, in order, and at most as many are in flight as there are slots.

use crate::machine::{COOKIE, PTAG, chassis, ns, run};
use netloom_fabric::router::tiled::Mode;
use netloom_messaging::gni::{Endpoint, Gni, MemOptions};
use netloom_messaging::smsg::{Mailbox, Message, Smsg};
use netloom_nic::aries::status::Refusal;

const AT: u64 = 0x10_0000;
const OTHER: u32 = 4;

fn message(i: u64) -> Message {
    let data = (0..i * 13 % 200).map(|b| (b + i) as u8).collect();
    Message { tag: i as u8, header: i.to_le_bytes().to_vec(), data }
}

async fn messages(gni: Gni) {
    gni.cdm_attach(PTAG, COOKIE).expect("of the job");
    let memory = gni.mem_register(AT, 1 << 16, MemOptions::default()).expect("free");
    let mailbox = Mailbox { memory, address: AT + 128, slots: 4, message_max: 300 };
    let other = match gni.node() {
        0 => OTHER,
        OTHER => 0,
        _ => return,
    };
    let mut smsg = Smsg::init(&gni, Endpoint::new(other, 0), mailbox, mailbox).expect("it fits");
    assert_eq!(smsg.set_delivery_mode(Mode::Adaptive0), Err(Refusal::InvalidParam));
    smsg.set_delivery_mode(Mode::NonminimalHash).expect("in order");
    if gni.node() == 0 {
        let mut refused = 0;
        for i in 0..40 {
            let m = message(i);
            while let Err(why) = smsg.send(&m.header, &m.data, m.tag, None, 0).await {
                assert_eq!(why, Refusal::NotDone);
                refused += 1;
                gni.compute_milliticks(100_000).await;
            }
        }
        assert!(refused > 0, "there are four slots");
        assert_eq!(smsg.send(&[0; 301], &[], 0, None, 0).await, Err(Refusal::Size));
        assert_eq!(smsg.wait_next().await.data, [9; 9]);
    } else {
        assert_eq!(smsg.get_next().await, Err(Refusal::NotDone));
        // Late, so that all slots are full.
        gni.compute_milliticks(20_000_000).await;
        for i in 0..40 {
            assert_eq!(smsg.wait_next().await, message(i));
            let other = smsg.get_next_with_tag(i as u8 + 1).await;
            assert_eq!(other, Err(Refusal::NoMatch));
            assert_eq!(smsg.get_next_with_tag(i as u8).await, Ok(message(i)));
            smsg.release().await.expect("signed on");
        }
        smsg.send(&[], &[9; 9], 0, None, 0).await.expect("a credit");
    }
    gni.measure(0, gni.now());
}

#[test]
fn messages_come_in_order_and_have_credits() {
    let outcome = run(&chassis(2), |gni| Box::pin(messages(gni)));
    println!("{:.0?}", ns(&outcome, 0, 0, 0));
}
