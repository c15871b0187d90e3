import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { CannotStart, DoesNotAnswer } from '../../errors/cannot-start.ts';
import { unavailable } from '../../errors/refusal.ts';
import { inSimulatedTime } from '../../testing/simulation/simulated-globals.ts';
import { patiently } from './patience.ts';

const silence = new DoesNotAnswer('MONGO_URL: no MongoDB answers at mongo:27017');

/** Attempts that fail with these errors, one after the other, the last for ever; returns what was logged. */
const attempts = (...errors: (Error | undefined)[]) => {
  const said: string[] = [];
  const logger = pino(
    { level: 'warn' },
    { write: (line: string) => said.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const made = { count: 0 };
  const attempt = () => {
    const error = errors[Math.min(made.count, errors.length - 1)];
    made.count += 1;
    return error ? Promise.reject(error) : Promise.resolve('open');
  };
  return { said, made, open: (options: object) => patiently(attempt, { patienceMs: 60_000, logger, ...options }) };
};

describe('the patience of a start', () => {
  it('tries a server again until it answers', () =>
    inSimulatedTime(async () => {
      const { open, made, said } = attempts(
        silence,
        unavailable('the read store does not answer', undefined),
        undefined,
      );
      await expect(open({})).resolves.toBe('open');
      expect(made.count).toBe(3);
      expect(said).toEqual([`${silence.message}; the start waits for an answer for another 60 s`]);
    }));

  it('ends after its time, with a line every ten seconds', () =>
    inSimulatedTime(async () => {
      const { open, said } = attempts(silence);
      await expect(open({})).rejects.toBe(silence);
      expect(said.map((line) => /\d+ s$/.exec(line)?.[0])).toEqual(['60 s', '50 s', '40 s', '30 s', '20 s', '10 s']);
    }));

  it.each([
    ['a refusal of the server', new CannotStart('KAFKA_SASL: refused'), {}],
    ['a fault of ours', new TypeError('a fault'), {}],
    ['silence, where none is wanted', silence, { patienceMs: 0 }],
    ['silence, once another engine was refused', silence, { signal: AbortSignal.abort() }],
  ])('does not repeat %s', (_, error, options) =>
    inSimulatedTime(async () => {
      const { open, made, said } = attempts(error);
      await expect(open(options)).rejects.toBe(error);
      expect({ attempts: made.count, said }).toEqual({ attempts: 1, said: [] });
    }),
  );
});
