export interface EmittedLog {
  topics: readonly string[];
  data: string;
}

const TOPICS_MAX = 4;
const WORD = 32;
const GAS = 1_000_000;
/** The sum for call data (40), copying it (3) and the log (8), and the growing cost of memory. */
const GAS_PER_BYTE = 60;

const byte = (value: number): string => value.toString(16).padStart(2, '0');
const word = (value: number): string => value.toString(16).padStart(WORD * 2, '0');

/** Returns the data and the gas of the transaction that makes a contract with the code `EMITTER` emit this log. */
export const emitting = ({ topics, data }: EmittedLog): { data: string; gas: bigint } => ({
  data: `0x${word(topics.length)}${[...topics, data].map((hex) => hex.slice(2)).join('')}`,
  gas: BigInt(GAS + (GAS_PER_BYTE * data.length) / 2),
});

/** EVM code that emits one log. Its call data: the number of topics (a word), the topics, the data. */
export const EMITTER = ((): string => {
  const branches = Array.from({ length: TOPICS_MAX + 1 }, (_, topics) => {
    const start = byte(WORD * (topics + 1));
    const pushTopics = Array.from({ length: topics }, (_, at) => `60${byte(WORD * (topics - at))}35`).join('');
    // JUMPDEST, topics, size = CALLDATASIZE - start, CALLDATACOPY(0, start, size), LOGn(0, size, ...), STOP
    return `5b${pushTopics}60${start}36038060${start}6000376000${byte(0xa0 + topics)}00`;
  });
  // The number of topics stays on the stack; for each branch: DUP1, PUSH1 n, EQ, PUSH1 target, JUMPI.
  let at = 3 + branches.length * 7 + 1;
  const jumps = branches.map((branch, topics) => {
    const jump = `8060${byte(topics)}1460${byte(at)}57`;
    at += branch.length / 2;
    return jump;
  });
  return `0x600035${jumps.join('')}00${branches.join('')}`;
})();
