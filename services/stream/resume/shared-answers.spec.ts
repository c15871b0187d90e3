import { beforeEach, describe, expect, it } from '@jest/globals';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { TestClock } from '../../../shared/testing/test-foundation.ts';
import { SharedAnswers } from './shared-answers.ts';

interface Question {
  answer: (text: string) => void;
  fail: (error: Error) => void;
  signal: AbortSignal;
}

describe('an answer that several callers ask for', () => {
  const noSignal = new AbortController().signal;
  let questions: Question[];
  let answers: SharedAnswers<{ text: string }>;
  let clock: TestClock;
  beforeEach(() => {
    questions = [];
    clock = new TestClock();
    answers = new SharedAnswers({ maxBytes: 10, ttlMs: 60_000, bytesOf: ({ text }) => text.length, clock });
  });
  const get = async (key: string, signal = noSignal) => {
    const { text } = await answers.get(key, signal, (ending) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ text: string }>();
      questions.push({ answer: (text) => resolve({ text }), fail: reject, signal: ending });
      return promise;
    });
    return text;
  };

  it('is asked for once, by all who come before the answer and by those who come soon after it', async () => {
    const waiting = [get('a'), get('a')];
    questions[0]?.answer('one');
    expect(await Promise.all(waiting)).toEqual(['one', 'one']);
    clock.time += 59_999;
    expect(await get('a')).toBe('one');
    expect(questions).toHaveLength(1);
    clock.time += 2;
    const later = get('a');
    questions[1]?.answer('two');
    expect(await later).toBe('two');
  });

  it('is asked for again when it was forgotten, or when later answers needed its room', async () => {
    for (const text of ['one', 'two']) {
      const asked = get('a');
      questions.at(-1)?.answer(text);
      expect(await asked).toBe(text);
      answers.forget('a');
    }
    for (const key of ['b', 'c', 'b']) {
      const asked = get(key);
      questions.at(-1)?.answer('123456');
      await asked;
    }
    expect(questions).toHaveLength(5);
  });

  it('fails for all who wait, and is then asked for again', async () => {
    const waiting = [get('a'), get('a')];
    questions[0]?.fail(new Error('away'));
    for (const one of waiting) await expect(one).rejects.toThrow('away');
    const again = get('a');
    questions[1]?.answer('back');
    expect(await again).toBe('back');
  });

  it('reaches the others when one caller leaves', async () => {
    const leaving = new AbortController();
    const [left, stayed] = [get('a', leaving.signal), get('a')];
    leaving.abort(new Error('the client left'));
    await expect(left).rejects.toThrow('the client left');
    expect(questions[0]?.signal.aborted).toBe(false);
    questions[0]?.answer('one');
    expect(await stayed).toBe('one');
  });

  it('is no longer looked for when all have left, and is asked for anew by who comes then', async () => {
    const leaving = new AbortController();
    const left = get('a', leaving.signal);
    leaving.abort(new Error('the client left'));
    await expect(left).rejects.toThrow('the client left');
    expect(questions[0]?.signal.aborted).toBe(true);
    const late = get('a');
    questions[0]?.fail(new Error('aborted'));
    await yieldToEventLoop();
    const later = get('a');
    questions[1]?.answer('one');
    expect(await Promise.all([late, later])).toEqual(['one', 'one']);
    await expect(get('b', leaving.signal)).rejects.toThrow('the client left');
    expect(questions).toHaveLength(2);
  });
});
