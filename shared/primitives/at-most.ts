/**
 * The limit of an LRU cache that grows as it is filled. With `max`, lru-cache makes room for all values at once: a megabyte
 * and some 15 ms for 50,000.
 */
export const atMost = (values: number): { maxSize: number; sizeCalculation: () => number } => ({
  maxSize: values,
  sizeCalculation: () => 1,
});
