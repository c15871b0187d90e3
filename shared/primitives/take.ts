/** Returns the next items, fewer at the end. Unlike `for await`, leaves the iterator open for more. */
export const take = async <Item>(items: AsyncIterator<Item>, count: number): Promise<Item[]> => {
  const taken: Item[] = [];
  while (taken.length < count) {
    const next = await items.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
};
