/* Task 0 sends a line to every other task; each prints what it received.
 *
 *   netloom cc hello.c -o hello && netloom exec -n 4 ./hello
 */

#include <pami.h>
#include <stdio.h>
#include <string.h>

enum { HELLO = 1 };

static size_t task;

/* Called at the receiver for each message of the identifier HELLO. A short message is there at once: `data`
 * points to it, and only during the call. */
static void hello(pami_context_t context, void * done, const void * header, size_t header_size, const void * data,
                  size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  (void) context, (void) header, (void) header_size, (void) origin, (void) recv;
  printf("task %zu received: %.*s\n", task, (int) size, (const char *) data);
  *(volatile int *) done = 1;
}

int main(void)
{
  pami_client_t                   client;
  pami_context_t                  context;
  pami_configuration_t            query[2] = {{.name = PAMI_CLIENT_TASK_ID}, {.name = PAMI_CLIENT_NUM_TASKS}};
  pami_dispatch_callback_function function = {.p2p = hello};
  pami_dispatch_hint_t            hints    = {.recv_immediate = PAMI_HINT_ENABLE};
  volatile int                    done     = 0;
  size_t                          tasks;

  if (PAMI_Client_create("hello", &client, NULL, 0) != PAMI_SUCCESS) return 1;
  PAMI_Client_query(client, query, 2);
  task  = query[0].value.intval;
  tasks = query[1].value.intval;
  PAMI_Context_createv(client, NULL, 0, &context, 1);
  PAMI_Dispatch_set(context, HELLO, function, (void *) &done, hints);

  if (task == 0)
  {
    for (size_t i = 1; i < tasks; i++)
    {
      char                  text[64];
      pami_send_immediate_t send = {.dispatch = HELLO};
      snprintf(text, sizeof text, "hello, task %zu", i);
      send.data.iov_base = text;
      send.data.iov_len  = strlen(text);
      PAMI_Endpoint_create(client, (pami_task_t) i, 0, &send.dest);
      PAMI_Send_immediate(context, &send);
    }
  }
  else
  {
    while (!done) PAMI_Context_advance(context, 1);
  }
  PAMI_Context_destroyv(&context, 1);
  PAMI_Client_destroy(&client);
  return 0;
}
