/* Counts the system calls of the calling thread, where the system can redirect them (Linux on x86-64). */
#ifndef SYSTEM_CALLS_H
#define SYSTEM_CALLS_H

/* Included before all others: the names of registers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__

enum { SYSTEM_CALLS_SET = 59, SYSTEM_CALLS_ON = 1 }; /* PR_SET_SYSCALL_USER_DISPATCH and its like */

/* The kernel reads it at each call: 1 redirects. */
static volatile char   system_calls_redirected;
static volatile long   system_calls_first = -1;
static volatile size_t system_calls;

/* The first is noted, and done after all; those after it are not redirected. */
static void system_call_made(int signal, siginfo_t *info, void *state)
{
  greg_t *at = ((ucontext_t *) state)->uc_mcontext.gregs;
  (void) signal;
  system_calls_redirected = 0;
  system_calls_first      = info->si_syscall;
  system_calls++;
  register long r10 __asm__("r10") = at[REG_R10];
  register long r8 __asm__("r8")   = at[REG_R8];
  register long r9 __asm__("r9")   = at[REG_R9];
  long          result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"((long) info->si_syscall), "D"(at[REG_RDI]), "S"(at[REG_RSI]), "d"(at[REG_RDX]), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  at[REG_RAX] = result;
}

/* Whether they can be counted here. */
static int can_count_system_calls(void)
{
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_sigaction = system_call_made;
  action.sa_flags     = SA_SIGINFO;
  if (sigaction(SIGSYS, &action, NULL)) return 0;
  return !prctl(SYSTEM_CALLS_SET, SYSTEM_CALLS_ON, 0L, 0L, &system_calls_redirected);
}

static void count_system_calls(void) { system_calls_redirected = 1; }

static void stop_counting(void) { system_calls_redirected = 0; }

#else

static const long   system_calls_first = -1;
static const size_t system_calls       = 0;
static int          can_count_system_calls(void) { return 0; }
static void         count_system_calls(void) {}
static void         stop_counting(void) {}

#endif
#endif
