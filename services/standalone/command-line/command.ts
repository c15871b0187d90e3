import { Command } from 'commander';

/** Of a command with `--json`. */
export interface Json {
  json?: boolean;
}

/** @param examples what follows `annals`; shown by `--help` */
export const command = (name: string, description: string, ...examples: string[]): Command => {
  const made = new Command(name).description(description);
  if (examples.length === 0) return made;
  const title = examples.length === 1 ? 'Example' : 'Examples';
  return made.addHelpText('after', `\n${title}:\n${examples.map((example) => `  annals ${example}`).join('\n')}`);
};

/** Prints a result: for machines as JSON, else as text. */
export const print = ({ json }: Json, result: unknown, text: string): void => {
  process.stdout.write(`${json ? JSON.stringify(result) : text}\n`);
};
