import { v1Text, v2Text } from '../../schemas/http/app-signature.ts';
import type { Clock } from '../primitives/clock.ts';
import { AnnalsError } from './annals-error.ts';
import type { PreparedRequest } from './transport.ts';

export interface SignedRequest {
  /** What is signed by EIP-191. */
  text: string;
  method: string;
  /** Path and query. */
  path: string;
  /** JSON; empty where there is none. */
  body: string;
}

export interface AppOptions {
  apiKey: string;
  /** Signs by the app's key (EIP-191, `personal_sign`), in the page or at a server of the app's; returns hex. */
  signRequest?: ((request: SignedRequest) => Promise<string> | string) | undefined;
  /** Of the app. Only outside browsers: a browser sends that of its page. */
  origin?: string | undefined;
  /** What is signed: with `v2`, the default, all of the request; with `v1` who asks and when. */
  scheme?: 'v1' | 'v2' | undefined;
}

/** Makes the headers by which a request says which app it comes from. */
export class AppSigner {
  /** By how much the services' clock is ahead of this machine's. */
  private aheadMs = 0;
  /** The time of the newest signature. */
  private signedMs = 0;

  constructor(
    private readonly options: AppOptions,
    private readonly clock: Clock,
  ) {}

  async headers({ route, url, body }: PreparedRequest): Promise<Record<string, string>> {
    const { apiKey, signRequest, scheme } = this.options;
    if (!signRequest) throw new AnnalsError('app_signature_invalid', 'createClient was given no signRequest');
    const origin = this.options.origin ?? (globalThis as { location?: { origin: string } }).location?.origin;
    if (origin === undefined) throw new AnnalsError('origin_not_allowed', 'createClient was given no origin');
    const timestamp = String(this.nextTime());
    const path = url.pathname + url.search;
    const who = { origin, timestamp, apiKey };
    const text =
      scheme === 'v1' ? v1Text(who) : v2Text({ ...who, method: route.method, url: path, bodyHash: await sha256(body) });
    const signature = await signRequest({ text, method: route.method, path, body });
    return {
      'x-api-key': apiKey,
      'x-timestamp': timestamp,
      'x-signature': signature,
      ...(this.options.origin !== undefined && { origin }),
    };
  }

  /** A signature of scheme `v2` is taken once, so two of the same request in one millisecond must differ. */
  private nextTime(): number {
    const now = this.clock.now() + this.aheadMs;
    if (this.options.scheme === 'v1') return now;
    this.signedMs = Math.max(now, this.signedMs + 1);
    return this.signedMs;
  }

  /** Takes the time of a service that refused this machine's; returns whether the refusal told it. */
  correctClock(error: unknown): boolean {
    const serverTime = error instanceof AnnalsError ? error.problem?.serverTime : undefined;
    if (serverTime === undefined) return false;
    this.aheadMs = serverTime - this.clock.now();
    this.signedMs = 0;
    return true;
  }
}

const sha256 = async (text: string): Promise<string> => {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
};
