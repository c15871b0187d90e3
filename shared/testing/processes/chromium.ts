import { spawn, type ChildProcess } from 'node:child_process';
import { on, once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** Debian's, or the one that is named. */
const executable = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
/** A busy machine takes long to start a browser. */
const STARTED_WITHIN_MS = 60_000;
/** In a container the user is root, for whom Chromium has no sandbox. */
const FLAGS = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'];

export const hasChromium = existsSync(executable);

interface Answer {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

/** A page in a headless Chromium, driven by the DevTools protocol. */
export class ChromiumPage {
  private readonly waiting = new Map<number, PromiseWithResolvers<unknown>>();
  private asked = 0;

  private constructor(
    private readonly browser: ChildProcess,
    private readonly socket: WebSocket,
    private sessionId: string,
  ) {
    socket.addEventListener('message', ({ data }) => {
      const { id, result, error } = JSON.parse(String(data)) as Answer;
      const asking = id === undefined ? undefined : this.waiting.get(id);
      if (error) asking?.reject(new Error(error.message));
      else asking?.resolve(result);
    });
    socket.addEventListener('close', () => {
      for (const { reject } of this.waiting.values()) reject(new Error('the browser is gone'));
    });
  }

  /** @param folder for the profile of the browser */
  static async open(folder: string): Promise<ChromiumPage> {
    const args = [...FLAGS, '--remote-debugging-port=0', `--user-data-dir=${folder}`, 'about:blank'];
    const browser = spawn(executable, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const socket = new WebSocket(await addressOf(browser));
    await once(socket, 'open');
    const page = new ChromiumPage(browser, socket, '');
    const { targetId } = (await page.send('Target.createTarget', { url: 'about:blank' })) as { targetId: string };
    const attached = await page.send('Target.attachToTarget', { targetId, flatten: true });
    page.sessionId = (attached as { sessionId: string }).sessionId;
    return page;
  }

  send(method: string, params: object = {}): Promise<unknown> {
    const id = (this.asked += 1);
    const asking = Promise.withResolvers<unknown>();
    this.waiting.set(id, asking);
    const session = this.sessionId === '' ? {} : { sessionId: this.sessionId };
    this.socket.send(JSON.stringify({ id, method, params, ...session }));
    return asking.promise.finally(() => this.waiting.delete(id));
  }

  /** Returns what an expression of the page is, as JSON; of a promise, what it is resolved with. */
  async evaluate(expression: string): Promise<unknown> {
    const evaluated = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    const { result, exceptionDetails } = evaluated as {
      result: { value?: unknown };
      exceptionDetails?: { exception?: { description?: string } };
    };
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? 'the page threw');
    return result.value;
  }

  async close(): Promise<void> {
    const ended = once(this.browser, 'exit');
    this.socket.close();
    this.browser.kill();
    await ended;
  }
}

/** Chromium says on stderr where it listens. */
const addressOf = async ({ stderr }: ChildProcess): Promise<string> => {
  if (!stderr) throw new Error('Chromium has no stderr');
  const lines = on(createInterface({ input: stderr }), 'line', { signal: AbortSignal.timeout(STARTED_WITHIN_MS) });
  for await (const [line] of lines as AsyncIterable<[string]>) {
    const [, address] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
    if (address === undefined) continue;
    // What nobody reads would stop it once the pipe is full.
    stderr.resume();
    return address;
  }
  throw new Error('Chromium ended before it listened');
};
