import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Refusal } from '../errors/refusal.ts';
import { logRefusal } from '../errors/log-refusal.ts';
import { loggedError } from './logger.ts';

const logged = (log: (logger: pino.Logger) => void): string => {
  let lines = '';
  log(pino({ base: null, serializers: { err: loggedError } }, { write: (line: string) => (lines += line) }));
  return lines;
};

describe('a logged error', () => {
  it('has its causes and their stacks, and no further members that a driver added', () => {
    const cause = Object.assign(new Error('no primary'), { topology: { credentials: 'hush' } });
    const error = Object.assign(new Error('cannot read', { cause }), { code: 11_000, request: { password: 'hush' } });
    const line = logged((logger) => logger.error({ err: error }, 'failed'));
    expect(JSON.parse(line)).toMatchObject({ err: { message: 'cannot read: no primary', code: 11_000 } });
    expect(line).toContain('logger.spec');
    expect(line).not.toContain('hush');
  });

  it('names each of several', () => {
    const line = logged((logger) => logger.error({ err: new AggregateError([new Error('one'), new Error('two')]) }));
    expect(JSON.parse(line)).toMatchObject({ err: { errors: [{ message: 'one' }, { message: 'two' }] } });
  });
});

describe('a logged refusal', () => {
  it('is one line when a dependency is away, and complete when the fault is ours', () => {
    const cause = new Error('no answer within 4500 ms');
    const away = logged((logger) => {
      logRefusal(
        logger,
        new Refusal('dependency_unavailable', 'the read store', { cause }),
        { requestId: 'r' },
        'failed',
      );
    });
    expect(JSON.parse(away)).toMatchObject({
      level: 40,
      requestId: 'r',
      reason: expect.stringMatching(/store: no answer/),
    });
    expect(away).not.toContain('logger.spec');
    const ours = logged((logger) => {
      logRefusal(logger, new Refusal('internal_error', 'ours', { cause }), {}, 'failed');
    });
    expect(JSON.parse(ours)).toMatchObject({ level: 50, err: { stack: expect.stringContaining('logger.spec') } });
  });
});
