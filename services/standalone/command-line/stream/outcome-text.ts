import type { Outcome } from '../../../../shared/client/conformance/run-case.ts';

const SHOWN_MAX = 600;

/** What came may be long, such as all messages of a reader. */
const shown = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${String(text.length)} characters)` : text;
};

/** One line; below it, of a case that failed, what was expected and what came. */
export const outcomeText = ({ result, id, title, tookMs, promise, reason, ...failure }: Outcome): string => {
  const line = `${result.padEnd(7)}  ${id.padEnd(57)} ${title}`;
  if (result === 'ok') return `${line}, ${String(tookMs)} ms`;
  if (result === 'skipped') return `${line}: ${reason ?? ''}`;
  const { step, expected, came } = failure;
  const details = [
    ['promise', promise],
    ['step', step ?? ''],
    ...(reason === undefined
      ? [
          ['expected', shown(expected)],
          ['came', shown(came)],
        ]
      : [['reason', reason]]),
  ];
  return [line, ...details.map(([name = '', text = '']) => `           ${name.padEnd(9)} ${text}`)].join('\n');
};

/** @param wanted how many cases there were to run; fewer were run if somebody interrupted the check */
export const summaryText = (outcomes: readonly Outcome[], wanted: number): string => {
  const count = (result: Outcome['result']) => String(outcomes.filter((outcome) => outcome.result === result).length);
  const left = wanted - outcomes.length;
  const interrupted = left === 0 ? '' : `; interrupted, ${String(left)} not run`;
  return `\n${count('ok')} ok, ${count('failed')} failed, ${count('skipped')} skipped${interrupted}`;
};
