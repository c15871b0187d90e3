import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Wallet } from 'ethers';
import { v1Text } from '../../../../schemas/http/app-signature.ts';
import { MAILBOX_PATH } from '../../../../schemas/http/account/development-mailbox.ts';
import { ServiceProcess } from '../../../../shared/testing/processes/running-processes.ts';
import { createShopApp, readShopApp } from '../../../../shared/testing/processes/shop-app.ts';
import { compareTimes, type Report } from '../measure.ts';

/** Number of requests of each kind, half of them for known identities. */
const SAMPLES = Number(process.env['TIMING_SAMPLES'] ?? 5_000);
/** How many requests share one set-up, so that setting up takes less time than measuring. */
const ASKED_FOR_EACH = 5;
/** Passwords are valid for five minutes, so they are requested little by little. */
const OPEN_AT_ONCE = 50;
const SIGNATURE_MS = 60_000;
/** Requests that wait for a timer of the service do not disturb one another. */
const WAITING_AT_ONCE = 4;

type Ask = () => Promise<number>;
interface Pair {
  known: Ask;
  unknown: Ask;
}

/** Measures whether the time of an answer reveals that an identity is known. Ends with exit code 1 if it does. */
export const benchTiming = async (folder: string, report: Report): Promise<void> => {
  const client = await QuietClient.start(folder);
  try {
    for (const compare of [
      () => client.challenges(),
      () => client.otherSessions(),
      () => client.requests('email'),
      () => client.requests('messenger'),
      () => client.guesses('email'),
      () => client.guesses('messenger'),
    ]) {
      const measured = await compare();
      report(measured);
      if (measured.tells) process.exitCode = 1;
    }
  } finally {
    await client.stop();
  }
};

const methods = {
  email: { request: '/auth/email-otp-request', logIn: '/auth/email-otp-verify', member: 'email' },
  messenger: { request: '/auth/messenger-otp-request', logIn: '/auth/messenger-login', member: 'messengerId' },
} as const;
type Method = keyof typeof methods;

/** The only client of an account service. */
class QuietClient {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: WAITING_AT_ONCE });
  private signed: { at: number; headers: Record<string, string> } | undefined;
  private people = 0;

  private constructor(
    private readonly service: ServiceProcess,
    private readonly app: ReturnType<typeof readShopApp>,
  ) {}

  static async start(folder: string): Promise<QuietClient> {
    const CHAINS = '[{"chainId":2484,"rpcUrls":["http://127.0.0.1:1"]}]';
    const settings = { DATA_DIR: folder, CHAINS, LOG_LEVEL: 'warn' };
    const service = await new ServiceProcess('account', settings).ready();
    const env = { PATH: process.env['PATH'], ...settings };
    const program = ['dist/services/standalone/annals.js', ...createShopApp];
    const { stdout } = await promisify(execFile)(process.execPath, program, { env });
    return new QuietClient(service, readShopApp(stdout));
  }

  async stop(): Promise<void> {
    this.agent.destroy();
    await this.service.process.stop();
  }

  /** Challenges for signers who have logged in, and for others. */
  async challenges() {
    const known = await this.repeated(async () => {
      const wallet = Wallet.createRandom();
      await this.logIn(wallet);
      return wallet.address;
    });
    const unknown = await this.repeated(() => Promise.resolve(Wallet.createRandom().address));
    const ask = (signer: string) => () => this.timed(`/auth/web3/challenge?signer=${signer}`, { status: 200 });
    return this.compare('a challenge', known.map(ask), unknown.map(ask));
  }

  /** Ends of another user's session, and of a session that does not exist. */
  async otherSessions() {
    const { accessToken } = await this.logIn(Wallet.createRandom());
    const headers = { authorization: `Bearer ${accessToken}` };
    const ask = (id: string) => () => this.timed(`/auth/sessions/${id}`, { method: 'DELETE', status: 404, headers });
    const known = await this.repeated(async () => sessionIn((await this.logIn(Wallet.createRandom())).accessToken));
    const unknown = await this.repeated(() => Promise.resolve(`ses_${letters(26)}`));
    return this.compare('the end of a session of others', known.map(ask), unknown.map(ask));
  }

  /** Requests for a one-time password by people who have logged in with one, and by others. */
  async requests(method: Method) {
    const known = await this.repeated(async () => {
      const person = this.someone(method);
      await this.requestPassword(method, person);
      await this.guess(method, person, await this.passwordOf(person), 201);
      return person;
    });
    const unknown = await this.repeated(() => Promise.resolve(this.someone(method)));
    const ask = (person: string) => () => this.requestPassword(method, person);
    return this.compare(`a request for a password by ${method}`, known.map(ask), unknown.map(ask));
  }

  /** Wrong guesses for people with an open password, and for others. */
  async guesses(method: Method) {
    const tookMs = { known: [] as number[], unknown: [] as number[] };
    for (let left = SAMPLES / 2; left > 0; left -= OPEN_AT_ONCE * ASKED_FOR_EACH) {
      const known = await this.repeated(
        async () => {
          const person = this.someone(method);
          await this.requestPassword(method, person);
          return { person, otp: wrong(await this.passwordOf(person)) };
        },
        Math.min(left, OPEN_AT_ONCE * ASKED_FOR_EACH),
      );
      const ask =
        ({ person, otp }: { person: string; otp: string }) =>
        () =>
          this.guess(method, person, otp, 401);
      const unknown = known.map(({ otp }) => ({ person: this.someone(method), otp }));
      await this.ask(known.map(ask), unknown.map(ask), tookMs, WAITING_AT_ONCE);
    }
    return compareTimes(`a wrong password by ${method}`, tookMs);
  }

  private async compare(what: string, known: readonly Ask[], unknown: readonly Ask[]) {
    const tookMs = { known: [] as number[], unknown: [] as number[] };
    await this.ask(known, unknown, tookMs, 1);
    return compareTimes(what, tookMs);
  }

  /** Sends all requests in random order. */
  private async ask(
    known: readonly Ask[],
    unknown: readonly Ask[],
    tookMs: Record<keyof Pair, number[]>,
    atOnce: number,
  ): Promise<void> {
    const all = shuffled([
      ...known.map((ask) => ({ ask, kind: 'known' as const })),
      ...unknown.map((ask) => ({ ask, kind: 'unknown' as const })),
    ]).values();
    const one = async () => {
      for (const { ask, kind } of all) tookMs[kind].push(await ask());
    };
    await Promise.all(Array.from({ length: atOnce }, one));
  }

  /** Makes as many items as this many requests need, and returns each as many times as it is used. */
  private async repeated<Item>(make: () => Promise<Item>, count = SAMPLES / 2): Promise<Item[]> {
    const items: Item[] = [];
    for (let at = 0; at < count / ASKED_FOR_EACH; at += 1) items.push(await make());
    return Array.from({ length: count }, (_, at) => items[at % items.length] as Item);
  }

  private someone(method: Method): string {
    const name = `${letters(10)}${String((this.people += 1))}`;
    return method === 'email' ? `${name}@mail.example` : name;
  }

  private requestPassword(method: Method, person: string): Promise<number> {
    const { request: path, member } = methods[method];
    return this.timed(path, { method: 'POST', body: { [member]: person }, status: 201 });
  }

  private guess(method: Method, person: string, otp: string, status: number): Promise<number> {
    const { logIn: path, member } = methods[method];
    return this.timed(path, { method: 'POST', body: { [member]: person, otp }, status });
  }

  private async passwordOf(person: string): Promise<string> {
    const { body } = await this.send(MAILBOX_PATH, { headers: { accept: 'application/json' } });
    const { messages } = JSON.parse(body) as { messages: { to: string; text: string }[] };
    return /\b\d{6}\b/.exec(messages.find(({ to }) => to === person)?.text ?? '')?.[0] ?? '';
  }

  private async logIn(wallet: { address: string; signMessageSync: (message: string) => string }) {
    const { body } = await this.send(`/auth/web3/challenge?signer=${wallet.address}`);
    const { message } = JSON.parse(body) as { message: string };
    const login = { signer: wallet.address, signature: wallet.signMessageSync(message) };
    const answer = await this.send('/auth/web3', { method: 'POST', body: login });
    return JSON.parse(answer.body) as { accessToken: string };
  }

  private async timed(path: string, { status, ...options }: SendOptions & { status: number }): Promise<number> {
    const answer = await this.send(path, options);
    if (answer.status === status) return answer.tookMs;
    throw new Error(`${path} answered ${String(answer.status)} ${answer.body}`);
  }

  private async send(path: string, { method = 'GET', body, headers = this.appHeaders() }: SendOptions = {}) {
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const type = payload === undefined ? {} : { 'content-type': 'application/json' };
    const { agent } = this;
    return new Promise<{ status: number; body: string; tookMs: number }>((resolve, reject) => {
      const from = performance.now();
      const options = { agent, method, headers: { ...headers, ...type } };
      const sending = request(this.service.url + path, options, (response) => {
        const tookMs = performance.now() - from;
        const { statusCode: status = 0 } = response;
        text(response).then((read) => {
          resolve({ status, body: read, tookMs });
        }, reject);
      });
      sending.once('error', reject);
      sending.end(payload);
    });
  }

  /** A v1 signature does not cover the request, so one signature suffices for a while. */
  private appHeaders(): Record<string, string> {
    const now = Date.now();
    if (this.signed && now - this.signed.at < SIGNATURE_MS) return this.signed.headers;
    const { origin, apiKey, signingKey } = this.app;
    const signature = new Wallet(signingKey).signMessageSync(v1Text({ origin, timestamp: String(now), apiKey }));
    const headers = { origin, 'x-api-key': apiKey, 'x-timestamp': String(now), 'x-signature': signature };
    this.signed = { at: now, headers };
    return headers;
  }
}

interface SendOptions {
  method?: string;
  body?: object;
  headers?: Record<string, string>;
}

const wrong = (password: string): string => String((Number(password) + 1) % 1_000_000).padStart(6, '0');

const letters = (length: number): string =>
  Array.from({ length }, () => String.fromCharCode(97 + randomInt(26))).join('');

const sessionIn = (accessToken: string): string => {
  const claims = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString();
  return (JSON.parse(claims) as { sid: string }).sid;
};

const shuffled = <Item>(items: readonly Item[]): Item[] =>
  items
    .map((item) => ({ item, at: randomInt(2 ** 32) }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
