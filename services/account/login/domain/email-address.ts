/**
 * An address in two parts, which together give it back as it was written. The second alone says nothing of it. An id of a
 * messenger has no capitals: it is one form already.
 */
export interface WrittenAddress {
  /** In the one form that identifies: of an address of email its lower case. */
  text: string;
  /** Where capital letters stand instead, in ascending order. */
  capitals: readonly number[];
}

/** @param address of ASCII characters, so that each letter has one lower case of one character */
export const readAddress = (address: string): WrittenAddress => {
  const text = address.toLowerCase();
  const capitals = Array.from(text).flatMap((character, at) => (character === address[at] ? [] : at));
  return { text, capitals };
};

export const writeAddress = ({ text, capitals }: WrittenAddress): string => {
  const isCapital = new Set(capitals);
  return Array.from(text, (character, at) => (isCapital.has(at) ? character.toUpperCase() : character)).join('');
};
