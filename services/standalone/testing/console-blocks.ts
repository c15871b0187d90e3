import { hostname } from 'node:os';

/** A command of a console block, and what it prints. */
interface ConsoleStep {
  command: string;
  output: string;
}

/** Reads a block in which each line of a command begins with `$ `, and what it prints follows. */
export const consoleSteps = (text: string): ConsoleStep[] =>
  text
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...lines] = step.trimEnd().split('\n');
      return { command, output: lines.join('\n') };
    });

/** What differs from run to run and from machine to machine. The name of the machine is part of a witness's name. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '<time>'],
  [new RegExp(`${RegExp.escape(hostname())}(?=/annals-witness)`, 'g'), '<host>'],
  [/host(?=\/annals-witness)/g, '<host>'],
  [/\b(?:usr|ses|app)_[a-z0-9]+/g, '<id>'],
  [/0x[0-9a-fA-F]{8,}/g, '<hex>'],
  [/\baudit-\w+/g, 'audit-<id>'],
  [/(request |"(?:requestId|correlationId|causationId|traceparent|id)":")[\w-]+/g, '$1<id>'],
  [/\b[0-9a-f]{32,}\b/g, '<hash>'],
  [/[\w+/-]{43,}={0,2}/g, '<bytes>'],
  [/\d+/g, '<number>'],
  [/[ \t]+/g, ' '],
];

/** Returns an output without what differs each time. */
export const withoutVolatile = (output: string): string =>
  VOLATILE.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), output.trimEnd());
