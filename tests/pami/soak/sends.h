/* Part of soak.c: sends of all kinds and sizes. */

typedef struct
{
  size_t seed, size;
} send_header_t;

typedef struct
{
  char * header;
  char * data;
  int    left; /* reports that are still to come */
} sending_t;

typedef struct
{
  char * data;
  int    has_gaps;
  size_t size, seed, from;
} receiving_t;

static size_t sends_in_flight, sent_to[MAX_TASKS], received_from[MAX_TASKS];

static void send_reported(pami_context_t on, void * cookie, pami_result_t result)
{
  sending_t * sending = cookie;
  (void) on;
  succeeded(result);
  if (--sending->left > 0) return;
  free(sending->header);
  free(sending->data);
  free(sending);
  --sends_in_flight;
}

static void data_arrived(pami_context_t on, void * cookie, pami_result_t result)
{
  receiving_t * receiving = cookie;
  (void) on;
  succeeded(result);
  verify_data(receiving->data, receiving->has_gaps, receiving->size, receiving->seed, "message of", receiving->from);
  ++received_from[receiving->from];
  free(receiving->data);
  free(receiving);
}

static void receive(pami_context_t on, void * cookie, const void * header, size_t header_size, const void * pipe,
                    size_t size, pami_endpoint_t origin, pami_recv_t * recv)
{
  send_header_t expected;
  receiving_t * receiving;
  size_t        from = origin_task(origin);
  (void) on, (void) cookie;
  REQUIRE(header_size >= sizeof expected);
  memcpy(&expected, header, sizeof expected);
  REQUIRE(size == expected.size);
  verify_data((const char *) header + sizeof expected, 0, header_size - sizeof expected, expected.seed + 1, "header of",
              from);
  if (recv == NULL)
  {
    verify_data(pipe, 0, size, expected.seed, "short message of", from);
    ++received_from[from];
    return;
  }
  receiving           = allocate(sizeof *receiving);
  receiving->has_gaps = below(4) == 0;
  receiving->data     = allocate(place(receiving->has_gaps, size) + 1);
  receiving->size     = size;
  receiving->seed     = expected.seed;
  receiving->from     = from;
  memset(recv, 0, sizeof *recv);
  recv->type     = receiving->has_gaps ? gaps : PAMI_TYPE_BYTE;
  recv->data_fn  = PAMI_DATA_COPY;
  recv->addr     = receiving->data;
  recv->cookie   = receiving;
  recv->local_fn = data_arrived;
}

static void send_short(pami_context_t on, size_t to)
{
  char          header[sizeof(send_header_t) + 40], data[300];
  send_header_t head;
  size_t        more = below(41);
  head.seed = below(1000);
  head.size = below(sizeof data + 1);
  memcpy(header, &head, sizeof head);
  fill_data(header + sizeof head, 0, more, head.seed + 1);
  fill_data(data, 0, head.size, head.seed);
  ++sent_to[to];
  send_immediate(on, endpoint(to, below(contexts)), SEND_ID, header, sizeof head + more, data, head.size);
}

static void send_long(pami_context_t on, size_t to)
{
  pami_send_typed_t send;
  send_header_t     head;
  sending_t *       sending  = allocate(sizeof *sending);
  int               has_gaps = below(3) == 0;
  size_t            more     = below(16) == 0 ? below(1500) : below(40);
  head.seed                  = below(1000);
  head.size                  = random_size(LONGEST);
  sending->header            = allocate(sizeof head + more);
  sending->data              = allocate(place(has_gaps, head.size) + 1);
  memcpy(sending->header, &head, sizeof head);
  fill_data(sending->header + sizeof head, 0, more, head.seed + 1);
  fill_data(sending->data, has_gaps, head.size, head.seed);
  memset(&send, 0, sizeof send);
  send.send.header.iov_base = sending->header;
  send.send.header.iov_len  = sizeof head + more;
  send.send.data.iov_base   = sending->data;
  send.send.data.iov_len    = head.size;
  send.send.dispatch        = SEND_ID;
  send.send.dest            = endpoint(to, below(contexts));
  send.events.cookie        = sending;
  send.events.local_fn      = send_reported;
  send.events.remote_fn     = below(2) == 0 ? send_reported : NULL;
  send.typed.type           = gaps;
  send.typed.data_fn        = PAMI_DATA_COPY;
  sending->left             = send.events.remote_fn != NULL ? 2 : 1;
  ++sends_in_flight;
  ++sent_to[to];
  if (has_gaps)
    begun(PAMI_Send_typed(on, &send));
  else
  {
    pami_send_t plain;
    plain.send   = send.send;
    plain.events = send.events;
    begun(PAMI_Send(on, &plain));
  }
}
