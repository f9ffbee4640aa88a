/* The operations that the L2 cache of Blue Gene/Q performs on 64-bit words, with the names of its SPI, as atomic
 * operations of this processor. There any word in memory that the kernel has prepared allows them, at an address of
 * its own for each operation; here every aligned word does, at its only address.
 *
 * Each operation is sequentially consistent; on Blue Gene/Q they are ordered with other accesses only by fences, which
 * programs call besides.
 *
 * Three of them look at two neighbouring words, which must not lie in different lines of 32 bytes there. Here the
 * second word is read before the first changes, so that a bound which another thread raises at the same time counts
 * from the next operation on, as if it had been raised after this one. */

#ifndef SPI_L2_ATOMIC_H
#define SPI_L2_ATOMIC_H

#include <stdint.h>

/* Result of operations that did not change anything. */
#define L2_ATOMIC_FAILED_ UINT64_C(0x8000000000000000)

/** Reads a word. */
static inline uint64_t L2_AtomicLoad(volatile uint64_t * word)
{
  return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

/** Sets a word to 0. @return its value before. */
static inline uint64_t L2_AtomicLoadClear(volatile uint64_t * word)
{
  return __atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST);
}

/** Adds 1. @return the value before. */
static inline uint64_t L2_AtomicLoadIncrement(volatile uint64_t * word)
{
  return __atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
}

/** Subtracts 1. @return the value before. */
static inline uint64_t L2_AtomicLoadDecrement(volatile uint64_t * word)
{
  return __atomic_fetch_sub(word, 1, __ATOMIC_SEQ_CST);
}

/* Adds `step` if the word equals the other (`if_equal` 1), or if it does not (0). */
static inline uint64_t l2_step_(volatile uint64_t * word, volatile uint64_t * other, uint64_t step, int if_equal)
{
  uint64_t value = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  do
  {
    if ((value == __atomic_load_n(other, __ATOMIC_SEQ_CST)) != if_equal) return L2_ATOMIC_FAILED_;
  } while (!__atomic_compare_exchange_n(word, &value, value + step, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

/** Adds 1 unless word[0] equals word[1]. @return the value before; 0x8000000000000000 if they are equal. */
static inline uint64_t L2_AtomicLoadIncrementBounded(volatile uint64_t * word)
{
  return l2_step_(word, word + 1, 1, 0);
}

/** Subtracts 1 unless word[0] equals word[-1]. @return the value before; 0x8000000000000000 if they are equal. */
static inline uint64_t L2_AtomicLoadDecrementBounded(volatile uint64_t * word)
{
  return l2_step_(word, word - 1, (uint64_t) -1, 0);
}

/** Adds 1 if word[0] equals word[1]. @return the value before; 0x8000000000000000 if they are not equal. */
static inline uint64_t L2_AtomicLoadIncrementIfEqual(volatile uint64_t * word)
{
  return l2_step_(word, word + 1, 1, 1);
}

/** Writes a word. */
static inline void L2_AtomicStore(volatile uint64_t * word, uint64_t value)
{
  __atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/** Writes word[0] and word[1] if they are equal. Here the two are written one after the other; concurrent stores of
 *  this kind to the same words can each write one. */
static inline void L2_AtomicStoreTwin(volatile uint64_t * word, uint64_t value)
{
  uint64_t before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  if (before != __atomic_load_n(word + 1, __ATOMIC_SEQ_CST)) return;
  if (__atomic_compare_exchange_n(word, &before, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    __atomic_compare_exchange_n(word + 1, &before, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/** Adds to a word. */
static inline void L2_AtomicStoreAdd(volatile uint64_t * word, uint64_t value)
{
  __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

/** The same. There the copies of the word in L1 caches are invalidated only when it becomes 0. */
static inline void L2_AtomicStoreAddCoherenceOnZero(volatile uint64_t * word, uint64_t value)
{
  __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

/** Bitwise or. */
static inline void L2_AtomicStoreOr(volatile uint64_t * word, uint64_t value)
{
  __atomic_fetch_or(word, value, __ATOMIC_SEQ_CST);
}

/** Bitwise exclusive or. */
static inline void L2_AtomicStoreXor(volatile uint64_t * word, uint64_t value)
{
  __atomic_fetch_xor(word, value, __ATOMIC_SEQ_CST);
}

/** Writes a word if its value is less, both as unsigned integers. */
static inline void L2_AtomicStoreMax(volatile uint64_t * word, uint64_t value)
{
  uint64_t before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (before < value)
    if (__atomic_compare_exchange_n(word, &before, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
}

/* The order of numbers that are a sign and an absolute value, as that of unsigned integers. */
static inline uint64_t l2_order_(uint64_t value)
{
  return (value & L2_ATOMIC_FAILED_) != 0 ? ~value : value | L2_ATOMIC_FAILED_;
}

/** Writes a word if its value is less, both as a sign bit and an absolute value: as floating-point numbers are. */
static inline void L2_AtomicStoreMaxSignValue(volatile uint64_t * word, uint64_t value)
{
  uint64_t before = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  while (l2_order_(before) < l2_order_(value))
    if (__atomic_compare_exchange_n(word, &before, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) break;
}

#endif
