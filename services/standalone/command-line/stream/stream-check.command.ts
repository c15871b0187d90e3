import { existsSync, readFileSync } from 'node:fs';
import { InvalidArgumentError, type Command } from 'commander';
import { USUAL_WITHIN_S } from '../../../../shared/client/conformance/case-run.ts';
import { readCases, type ConformanceCase, type Need } from '../../../../shared/client/conformance/conformance-case.ts';
import { runCase, type Outcome } from '../../../../shared/client/conformance/run-case.ts';
import { command, print, type Json } from '../command.ts';
import { showProgress } from '../show-progress.ts';
import { unlessInterrupted } from '../watches/until-interrupted.ts';
import { WrongArguments } from '../wrong-arguments.ts';
import { openCheckedNode, type NodeOptions } from './open-checked-node.ts';
import { outcomeText, summaryText } from './outcome-text.ts';

interface Options extends Json, NodeOptions {
  only?: string[];
}

export const streamCheckCommand = (): Command =>
  command(
    'stream-check',
    'runs the promises of the stream against a node, and prints which hold',
    'stream-check http://127.0.0.1:3002',
    'stream-check http://127.0.0.1:3002 --only resume --only pages/immutable --json',
    'stream-check https://stream.example --token token.txt --event-url https://events.example --chain-rpc https://rpc.example --key key.txt',
  )
    .argument('<url>', "the stream's address, as STREAM_URL", httpUrl)
    .option('--token <token>', 'an access token or connection token, or the file that has it', textOrFile)
    .option('--event-url <url>', "the event catcher's address, where the events of the check are registered", httpUrl)
    .option('--chain-rpc <url>', 'a node of a chain that is followed there', httpUrl)
    .option('--key <key>', 'the private key of an account with gas on that chain, or the file that has it', textOrFile)
    .option('--public', 'says that everybody may read that chain: "public": true in CHAINS')
    .option('--within <seconds>', 'how long a step waits for what it expects', seconds, USUAL_WITHIN_S)
    .option('--only <id>', 'this case, or all cases whose ids begin so; can be given again', addOnly)
    .option('--json', 'for machines')
    .addHelpText('after', `\n${NOTE}`)
    .action(check);

const NOTE = `Beside a development start (npm start) nothing else is needed: what is not given is read from dev.json in DATA_DIR. Each
case deploys a contract of some 80,000 gas, registers its event, and removes the registration at its end. Cases that need
a reorganisation or final blocks go back and mine on a development chain, and are skipped on others.
The cases are shared/client/conformance/*.yaml. Exits with 1 if a promise does not hold.`;

const check = async (url: string, { json, only = [], ...given }: Options & { within: number }): Promise<void> => {
  const cases = chosen(readCases(), only);
  const { node, close } = await openCheckedNode(url, given);
  try {
    const lacking = new Map<Need, string>();
    if (node.chain.isReal !== undefined) lacking.set('development chain', node.chain.isReal);
    if (given.public) lacking.set('private chain', 'everybody may read this chain');
    else lacking.set('public chain', 'this chain is not public; if it is, say so with --public');
    const outcomes: Outcome[] = [];
    const progress = showProgress('cases', cases.length);
    const ended = await unlessInterrupted(async (signal) => {
      for (const one of cases) {
        const outcome = await runCase(one, node, { lacking, signal });
        outcomes.push(outcome);
        if (!json) process.stdout.write(`${outcomeText(outcome)}\n`);
        progress(outcomes.length);
      }
      return true;
    });
    const summary = { url, chainId: node.chain.chainId, complete: ended === true, cases: outcomes };
    print({ json: json === true }, summary, summaryText(outcomes, cases.length));
    if (ended && outcomes.some(({ result }) => result === 'failed')) process.exitCode = 1;
  } finally {
    close();
  }
};

const chosen = (cases: readonly ConformanceCase[], only: readonly string[]): readonly ConformanceCase[] => {
  if (only.length === 0) return cases;
  for (const wanted of only) {
    if (cases.some(({ id }) => id.startsWith(wanted))) continue;
    throw new WrongArguments(`no case has the id ${wanted}. There are ${cases.map(({ id }) => id).join(', ')}`);
  }
  return cases.filter(({ id }) => only.some((wanted) => id.startsWith(wanted)));
};

const addOnly = (id: string, before: string[] = []): string[] => [...before, id];

function httpUrl(text: string): string {
  if (URL.canParse(text) && /^https?:/.test(text)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It is not an address that begins with http:// or https://.');
}

function textOrFile(text: string): string {
  return existsSync(text) ? readFileSync(text, 'utf8').trim() : text;
}

function seconds(text: string): number {
  if (/^\d{1,4}$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('It is not a number of seconds from 1 to 9999.');
}
