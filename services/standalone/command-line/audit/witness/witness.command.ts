import { hostname } from 'node:os';
import { Command } from 'commander';
import { loadSettings } from '../../../../../shared/config/load-settings.ts';
import { haveFileAlone } from '../../../../../shared/host/engines/folder-locks.sqlite.ts';
import { systemClock } from '../../../../../shared/primitives/clock.ts';
import { isAborted } from '../../../../../shared/primitives/waiting/is-aborted.ts';
import { pause } from '../../../../../shared/primitives/waiting/pause.ts';
import { WrongTiles } from '../../../../../shared/transparency-log/is-continued.ts';
import { LogAway, RemoteLog } from '../../../../../shared/transparency-log/remote-log.ts';
import { ED25519, NotANote, vkeyOf } from '../../../../../shared/transparency-log/signed-note.ts';
import { Fork, Witness } from '../../../../../shared/transparency-log/witnesses/witness.ts';
import { openWitnessKey } from '../../../../../shared/transparency-log/witnesses/witness-key.ts';
import { untilInterrupted } from '../../watches/until-interrupted.ts';
import { WrongArguments } from '../../wrong-arguments.ts';
import { readVkey, requireLogUrl } from '../kept-log.ts';
import { serveWitness } from './serve-witness.ts';
import { inFile, printing, WitnessState, type Print } from './witness-state.ts';

const EVERY_MS = 60_000;
const PORT_MAX = 65_535;

interface Options {
  log: string;
  logKey: string;
  keyFile: string;
  state: string;
  once?: boolean;
  port?: string;
  json?: boolean;
}

export const witnessCommand = (): Command =>
  new Command('witness')
    .description(
      "watches somebody else's log: cosigns each checkpoint that continues the one before, and ends at a fork",
    )
    .requiredOption('--log <url>', 'where the log is served; ends in /log')
    .requiredOption('--log-key <vkey>', "the log's key, from whom you trust: <name>+<id>+<base64>")
    .requiredOption('--key-file <file>', "the witness's own key; made if there is none")
    .requiredOption('--state <file>', 'the newest checkpoint that it has cosigned; keep it')
    .option('--once', 'looks once; without it, each minute')
    .option(
      '--port <port>',
      'does not look, but takes POST /add-checkpoint (C2SP tlog-witness) on this port of HOST; 0: any free port',
    )
    .option('--json', 'for machines: an object in each line')
    .addHelpText(
      'after',
      `
Ends with exit code 1 and a line that says "fork" when the log has signed two histories; the state stays as it was, and the other
checkpoint is beside it in <state>.fork: keep both.

With --port the log asks: name http://<host>:<port>, and the key that is printed, in LOG_WITNESSES of the account service. GET
/checkpoint answers the newest checkpoint that is cosigned. HOST is the address to listen on, by default 127.0.0.1.

Examples:
  annals audit witness --log https://account.example/log --log-key "$(cat log.vkey)" --key-file witness.key --state log.state
  HOST=0.0.0.0 annals audit witness --port 4300 --log https://account.example/log --log-key "$(cat log.vkey)" --key-file witness.key --state log.state`,
    )
    .action(watch);

const watch = async (options: Options): Promise<void> => {
  const { log, once } = options;
  const port = readPort(options);
  const logKey = readVkey(options.logKey, ED25519, 'a log');
  requireLogUrl(log);
  const { HOST: host } = loadSettings(process.env, {}).settings;
  const signer = inFile(options.keyFile, () => openWitnessKey(options.keyFile, `${hostname()}/annals-witness`));
  // Two witnesses with one state could cosign two histories.
  const release = haveFileAlone(`${options.state}.lock`, options.state);
  const print = printing(options.json ?? false);
  try {
    print('key', `this witness's key is ${vkeyOf(signer.key)}`, { vkey: vkeyOf(signer.key) });
    await untilInterrupted(async (signal) => {
      const witness = new Witness(new RemoteLog(log, signal), logKey, signer, () => systemClock.now());
      const state = WitnessState.open(options.state, witness, print);
      if (port !== undefined) return serveWitness({ witness, state, print, host, port, signal });
      while (!isAborted(signal)) {
        await look(witness, state, { options, print, signal });
        if (once || process.exitCode !== undefined) return;
        await pause(EVERY_MS, signal);
      }
    });
  } finally {
    release();
  }
};

/** @throws WrongArguments */
const readPort = ({ port, once }: Options): number | undefined => {
  if (port === undefined) return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) > PORT_MAX)
    throw new WrongArguments(`--port ${port} is not a port: 0 to ${String(PORT_MAX)}`);
  if (once) throw new WrongArguments('give --once or --port, not both: with --port it is the log that asks');
  return Number(port);
};

interface Looking {
  options: Options;
  print: Print;
  signal: AbortSignal;
}

/** Looks for a newer checkpoint. Sets the exit code where the log forks, or where the only look is refused. */
const look = async (witness: Witness, state: WitnessState, { options, print, signal }: Looking): Promise<void> => {
  const { once, log } = options;
  try {
    const next = await witness.next(state.checkpoint);
    if (next) state.keep(next);
    else print('unchanged', `${log} has no newer checkpoint`);
  } catch (error) {
    if (error instanceof Fork) {
      state.fork(error);
    } else if (error instanceof LogAway || error instanceof WrongTiles || error instanceof NotANote) {
      if (isAborted(signal)) return;
      print('refused', `not cosigned: ${error.message}`);
      if (once) process.exitCode = 1;
    } else {
      throw error;
    }
  }
};
