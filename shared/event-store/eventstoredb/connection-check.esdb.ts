import { isIP, connect as openSocket } from 'node:net';
import { BACKWARDS, END, EventStoreDBClient } from '@eventstore/db-client';
import { readServerUrl } from '../../config/server-url.ts';
import { optionName } from '../../config/unsent-credentials.ts';
import { CannotStart, DoesNotAnswer } from '../../errors/cannot-start.ts';
import { pause } from '../../primitives/waiting/pause.ts';
import { readThrough } from './bounded-read.esdb.ts';
import { describe, isAccessDenied, leaderNamedBy } from './client-errors.esdb.ts';
import { DeadlineExceeded, withinDeadline } from '../../primitives/waiting/within-deadline.ts';

const RETRY_MS = 250;
const DEFAULT_PORT = 2113;
/** Allowed options. The client prints any other option, with the password. */
const OPTIONS = new Set([
  ...['tls', 'tlscafile', 'usercertfile', 'userkeyfile', 'connectionname', 'throwonappendfailure'],
  ...['nodepreference', 'maxdiscoverattempts', 'discoveryinterval', 'gossiptimeout'],
  ...['defaultdeadline', 'keepaliveinterval', 'keepalivetimeout'],
]);

const NEWEST = { direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true } as const;
const UNREADABLE = 'is not a connection string of EventStoreDB';

interface Target {
  /** Includes the options that this program relies on, whatever the setting says. */
  connectionString: string;
  /** In the form `host:port`. */
  hosts: string[];
  isSecure: boolean;
}

/** @throws CannotStart saying what is wrong with EVENTSTORE_URL, without its password */
export const readTarget = (url: string): Target => {
  const [base = '', ...query] = url.trim().split('?');
  const server = readServerUrl(url.trim());
  if (!server) throw cannotStart(UNREADABLE);
  const options = readOptions(query.join('?'));
  // Without this option, a failed append returns a wrong revision instead of throwing.
  options.set('throwonappendfailure', 'true');
  const connectionString = `${base.replace(/\/+$/, '')}?${Array.from(options, ([name, value]) => `${name}=${value}`).join('&')}`;
  try {
    EventStoreDBClient.connectionString(connectionString);
  } catch (cause) {
    // The client quotes what it cannot parse, which may be the password.
    const reason = String(cause).replace(/^Error: /, '');
    const isOfFile = /^(Failed to load|E[A-Z]+: )/.test(reason);
    throw isOfFile ? cannotStart(reason, cause) : cannotStart(UNREADABLE);
  }
  const hosts = server.hosts.map((host) => (/:\d+$/.test(host) ? host : `${host}:${String(DEFAULT_PORT)}`));
  const isSecure = options.get('tls') !== 'false';
  const address = hosts.map((host) => host.replace(/:\d+$/, '')).find((host) => isIP(host) > 0);
  // Node does not check a certificate against an IP address as server name, and the client passes no other name.
  if (isSecure && address) throw cannotStart(`TLS needs the host's name, not its address ${address}`);
  return { connectionString, hosts, isSecure };
};

/** Normalises option names as the client compares them. Leaves values unchanged. */
const readOptions = (query: string): Map<string, string> => {
  const options = new Map<string, string>();
  for (const option of query.split('&').filter((text) => text !== '')) {
    const [name = '', ...value] = option.split('=');
    const known = optionName(name);
    if (!OPTIONS.has(known)) throw cannotStart(`has an unknown option: ${name}`);
    options.set(known, value.join('=').trim());
  }
  if (optionName(options.get('nodepreference') ?? 'leader') !== 'leader') {
    throw cannotStart('nodePreference must be leader: other nodes may return stale events');
  }
  return options;
};

interface ConnectionLimits {
  /** A read without an answer is repeated after this time. */
  answerMs: number;
  /** For all reads together. */
  startMs: number;
  /** For a TCP connection, which tells whether a program listens at the address at all. */
  socketMs: number;
}

/**
 * Returns once the server has answered a read.
 * @throws DoesNotAnswer when the time is over, or at once CannotStart if the server refuses us
 */
export const checkConnection = async (
  client: EventStoreDBClient,
  target: Target,
  { answerMs, startMs, socketMs }: ConnectionLimits,
): Promise<void> => {
  const giveUpAt = performance.now() + startMs;
  let leader: string | undefined;
  /**
   * The error to report. A timeout does not replace it: the last attempt may have had too little time for an answer.
   */
  let reported: unknown;
  for (;;) {
    try {
      const read = readThrough(client.readAll(NEWEST), answerMs, () => true);
      await withinDeadline('a first read', Math.max(giveUpAt - performance.now(), 1), read);
      return;
    } catch (error) {
      if (isAccessDenied(error)) throw cannotStart(`${target.hosts.join(', ')} refuses these credentials`, error);
      leader = leaderNamedBy(error) ?? leader;
      if (reported === undefined || !(error instanceof DeadlineExceeded)) reported = error;
      if (performance.now() + RETRY_MS > giveUpAt)
        throw new DoesNotAnswer(named(await explain(target, { error: reported, leader, socketMs })), {
          cause: reported,
        });
      await pause(RETRY_MS);
    }
  }
};

const explain = async (
  { hosts, isSecure }: Target,
  { error, leader, socketMs }: { error: unknown; leader: string | undefined; socketMs: number },
): Promise<string> => {
  const reached = await Promise.all(hosts.map((host) => accepts(host, socketMs)));
  const where = hosts.join(', ');
  if (!reached.includes(true)) return `nothing answers at ${where}`;
  if (leader !== undefined) return `${where} names ${leader} as the leader, which does not answer`;
  const reason = error instanceof DeadlineExceeded ? 'it does not answer' : describe(error);
  const how = isSecure ? 'with TLS (tls=true)' : 'without TLS (tls=false)';
  return `what answers at ${where} is not an EventStoreDB that speaks ${how}: ${reason}`;
};

/** Whether a program accepts TCP connections at this address. */
const accepts = async (hostAndPort: string, socketMs: number): Promise<boolean> => {
  const at = hostAndPort.lastIndexOf(':');
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = openSocket({
    host: hostAndPort.slice(0, at),
    port: Number(hostAndPort.slice(at + 1)),
    timeout: socketMs,
  });
  socket.once('connect', () => {
    resolve(true);
  });
  for (const failure of ['error', 'timeout']) {
    socket.once(failure, () => {
      resolve(false);
    });
  }
  const isThere = await promise;
  socket.destroy();
  return isThere;
};

const cannotStart = (what: string, cause?: unknown): CannotStart => new CannotStart(named(what), { cause });

const named = (what: string): string => `EVENTSTORE_URL: ${what}`;
