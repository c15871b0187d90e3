import { numberOf } from './answered-forms.ts';
import { InvalidAnswer } from './checked-answers.ts';

export const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/;
const BYTES = /^0x(?:[0-9a-fA-F]{2})*$/;
const WORD = /^0x[0-9a-fA-F]{64}$/;

const textOf = (answer: unknown, form: RegExp, complaint: string): string => {
  if (typeof answer !== 'string' || !form.test(answer)) throw new InvalidAnswer(complaint);
  return answer.toLowerCase();
};

/** Reads a quantity of up to 256 bits. @throws InvalidAnswer, as all of these do, which begins with `what` */
export const checkAmount = (answer: unknown, what: string): bigint =>
  BigInt(textOf(answer, QUANTITY, `${what} is not a quantity`));

/** Reads a block number, a time, an index or a transaction count. */
export const checkNumber = (answer: unknown, what: string): number => {
  const number = numberOf(answer);
  if (number === undefined) throw new InvalidAnswer(`${what} is not a number`);
  return number;
};

/** Returns bytes of any length in lower case. */
export const checkBytes = (answer: unknown, what: string): string => textOf(answer, BYTES, `${what} is not bytes`);

/** Returns a hash, or another value of exactly 32 bytes, in lower case. */
export const checkHash = (answer: unknown, what: string): string => textOf(answer, WORD, `${what} is not 32 bytes`);

/** Reads the one word that a contract answered. */
export const checkWord = (answer: unknown, what: string): bigint => BigInt(checkHash(answer, what));
