import { join } from 'node:path';
import { hexlify, randomBytes, Wallet } from 'ethers';
import { RunningProcess } from '../../../../shared/testing/processes/running-process.ts';
import { RunningProgram } from '../../../../shared/testing/processes/running-program.ts';
import { accepted, atATime, send, signedInBy, walletLogins, type Answer, type SignedIn } from '../http-load.bench.ts';
import { latencyOf, measure, type Report } from '../measure.ts';
import { processorMs } from '../processor-time.ts';

const WALLETS = 1_000;
const READS = 10_000;
const CHANGES = 4_000;
const ORIGIN = 'https://bench.example';

interface Service {
  name: string;
  pid: number | undefined;
  logIn: (wallet: Wallet) => Promise<SignedIn>;
  read: (user: SignedIn) => Promise<Answer>;
  change: (user: SignedIn, name: string) => Promise<Answer>;
  refresh?: (user: SignedIn) => Promise<SignedIn>;
  stop: () => Promise<unknown>;
}

/** Measures logins, reads and changes over HTTP, ours beside Better Auth's, each as a process of its own. */
export const benchLogins = async (folder: string, report: Report): Promise<void> => {
  const wallets = Array.from({ length: WALLETS }, () => new Wallet(hexlify(randomBytes(32))));
  const ours = await measureService(await startOurs(join(folder, 'ours')), wallets, report);
  const theirs = await measureService(await startBetterAuth(join(folder, 'theirs.db'), 'FULL'), wallets, report);
  const careless = await measureService(await startBetterAuth(join(folder, 'normal.db'), 'NORMAL'), wallets, report);
  for (const [what, perSecond] of ours) {
    const than = (other: ReadonlyMap<string, number>) =>
      Math.round((perSecond / (other.get(what) ?? Number.NaN)) * 100) / 100;
    if (!theirs.has(what)) continue;
    report({ what: `${what}: times Better Auth`, times: than(theirs) });
    report({ what: `${what}: times Better Auth that a power cut may take back`, times: than(careless) });
  }
};

/** Returns the operations per second of each kind. */
const measureService = async (
  { name, pid, logIn, read, change, refresh, stop }: Service,
  wallets: readonly Wallet[],
  report: Report,
): Promise<ReadonlyMap<string, number>> => {
  const perSecond = new Map<string, number>();
  const run = async <Item, Result>(
    what: string,
    items: readonly Item[],
    work: (item: Item, at: number) => Promise<Result>,
  ) => {
    const tookMs: number[] = [];
    const results: Result[] = [];
    const before = processorMs(pid);
    const measured = await measure(`${name}: ${what}`, items.length, () =>
      atATime(items, async (item, at) => {
        const from = performance.now();
        results.push(await work(item, at));
        tookMs.push(performance.now() - from);
      }),
    );
    report(measured);
    report(latencyOf(measured.what, tookMs));
    const usedMs = processorMs(pid) - before;
    if (usedMs > 0) report({ what: measured.what, msEach: Math.round((usedMs / items.length) * 100) / 100 });
    perSecond.set(what, measured.perSecond);
    return results;
  };
  const repeated = (count: number) => Array.from({ length: count }, (_, at) => users[at % users.length] ?? users[0]);
  await run('first logins', wallets, logIn);
  let users = await run('logins again', wallets, logIn);
  if (refresh) users = await run('refreshes', users, refresh);
  await run('reads of session and user', repeated(READS) as SignedIn[], async (user) => accepted(await read(user)));
  await run('changes', repeated(CHANGES) as SignedIn[], async (user, at) =>
    accepted(await change(user, `Ada ${String(at)}`)),
  );
  await stop();
  return perSecond;
};

const startOurs = async (folder: string): Promise<Service> => {
  const program = await RunningProgram.start(folder, { LOG_LEVEL: 'warn' });
  const { accountUrl } = program.development;
  return {
    name: 'Annals',
    pid: program.child.pid,
    logIn: walletLogins(program.development),
    read: ({ userId, headers }) => send(`${accountUrl}/user/${userId}`, { headers }),
    change: ({ userId, headers }, firstname) =>
      send(`${accountUrl}/user/${userId}/profile`, { method: 'POST', headers, body: { firstname } }),
    refresh: async ({ refreshToken }) =>
      signedInBy(accepted(await send(`${accountUrl}/auth/refresh`, { method: 'POST', body: { refreshToken } }))),
    stop: () => program.stop(),
  };
};

const startBetterAuth = async (file: string, synchronous: 'FULL' | 'NORMAL'): Promise<Service> => {
  const program = ['services/standalone/bench/logins/better-auth-server.bench.ts', file, synchronous];
  const running = RunningProcess.spawn('Better Auth', program, {});
  const [, url = ''] = await running.ready(/(http:\S+) is ready/);
  const post = (path: string, body: object, headers = {}) =>
    send(`${url}/api/auth${path}`, { method: 'POST', headers: { origin: ORIGIN, ...headers }, body });
  return {
    name: synchronous === 'FULL' ? 'Better Auth' : 'Better Auth, synchronous=NORMAL',
    pid: running.child.pid,
    logIn: async (wallet) => {
      const { address } = wallet;
      const { nonce = '' } = accepted(await post('/siwe/nonce', {})).body;
      const message = messageOf(address, nonce);
      const answer = accepted(await post('/siwe/verify', { message, signature: wallet.signMessageSync(message) }));
      const cookies = [answer.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0]);
      return { userId: '', headers: { cookie: cookies.join('; ') }, refreshToken: '' };
    },
    read: ({ headers }) => send(`${url}/api/auth/get-session`, { headers }),
    change: ({ headers }, name) => post('/update-user', { name }, headers),
    stop: () => running.stop(),
  };
};

const messageOf = (address: string, nonce: string): string =>
  `bench.example wants you to sign in with your Ethereum account:
${address}

Sign in. This costs nothing and sends no transaction.

URI: ${ORIGIN}
Version: 1
Chain ID: 1
Nonce: ${nonce}
Issued At: ${new Date().toISOString()}
Expiration Time: ${new Date(Date.now() + 300_000).toISOString()}`;
