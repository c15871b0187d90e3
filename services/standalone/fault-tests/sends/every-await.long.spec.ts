import { describe, expect, it } from '@jest/globals';
import { InterruptedSends, type Action, type Interruption } from './interrupted-sends.ts';

const AROUND: readonly Action[] = ['bundle', 'project', 'relay', 'block'];
const sponsored = (user: number): Action => ({ user, sponsor: true });
const unsponsored = (user: number): Action => ({ user, sponsor: false });

const ONE: readonly Action[] = [sponsored(0), ...AROUND, ...AROUND, ...AROUND, ...AROUND, ...AROUND];
/**
 * The first user's sends wait for its first one, which deploys the account; the second user pays with its account;
 * nonce keys are used again.
 */
const SOME: readonly Action[] = [
  ...([sponsored(0), 'bundle', sponsored(0), unsponsored(1), 'project', 'bundle', 'block'] as const),
  ...AROUND,
  ...[sponsored(0), unsponsored(1), ...AROUND, ...AROUND, ...AROUND, ...AROUND, ...AROUND],
];

const SIGNED: readonly Action[] = ['signed', ...AROUND, 'signed', ...AROUND, ...AROUND, ...AROUND, ...AROUND];

/** For some hundred runs, on a busy machine. */
const PATIENCE_MS = 600_000;
/** One send needs more awaits: with fewer, some port would not be counted. */
const AWAITS_MIN = 100;

/** Interrupts a plan at each of its awaits. @returns the violations, by await */
const interruptEverywhere = async (
  plan: readonly Action[],
  how: Interruption['how'],
  blocks: (at: number) => readonly boolean[],
): Promise<string> => {
  const whole = await InterruptedSends.run(plan);
  expect(whole.faults).toEqual([]);
  expect(whole.awaits.length).toBeGreaterThan(AWAITS_MIN);
  const failed: string[] = [];
  for (const [index, name] of whole.awaits.entries()) {
    const at = index + 1;
    for (const withBlock of blocks(at)) {
      const { awaits, faults } = await InterruptedSends.run(plan, { at, how, withBlock });
      expect(awaits.slice(0, at)).toEqual(whole.awaits.slice(0, at));
      const when = `${how} at ${String(at)}, ${name}, ${withBlock ? 'with' : 'without'} a block`;
      if (faults.length > 0) failed.push(`${when}:\n  ${faults.join('\n  ')}`);
    }
  }
  return failed.join('\n');
};

describe('each send is included once, and its first answer is given again, at whatever await', () => {
  const withAndWithout = () => [true, false];
  const alternately = (at: number) => [at % 2 === 0];

  it.each([
    ['a process is killed, from the request of one send until it is final', ONE, 'killed', withAndWithout],
    [
      'a process stops while another takes over, and goes on, from the request of one send until it is final',
      ONE,
      'overtaken',
      withAndWithout,
    ],
    [
      'a process is killed, from the request of operations that came signed until they are final',
      SIGNED,
      'killed',
      alternately,
    ],
    [
      'a process stops while another takes over, and goes on, that was given operations that came signed',
      SIGNED,
      'overtaken',
      alternately,
    ],
    ['a process is killed that carries out five sends of two users', SOME, 'killed', alternately],
    [
      'a process stops while another takes over, and goes on, that carries out five sends of two users',
      SOME,
      'overtaken',
      alternately,
    ],
  ] as const)(
    '%s',
    async (_, plan, how, blocks) => {
      expect(await interruptEverywhere(plan, how, blocks)).toBe('');
    },
    PATIENCE_MS,
  );
});
