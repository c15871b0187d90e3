import { Backoff } from '../primitives/waiting/backoff.ts';
import { pause } from '../primitives/waiting/pause.ts';
import { AnnalsError, canPass, pauseMs } from './annals-error.ts';
import type { AppSigner } from './app-signer.ts';
import type { Routes } from './routes.ts';
import type { SessionKeeper } from './session-keeper.ts';
import type { PreparedRequest, RequestInput, Transport } from './transport.ts';

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** A command that is repeated with the same key is carried out once. */
  idempotencyKey?: string | undefined;
  /** With a login: adds the identity to the user who is signed in. */
  link?: boolean | undefined;
}

type Member<Name extends string, Value> = [Value] extends [undefined]
  ? unknown
  : undefined extends Value
    ? { [Key in Name]?: Value }
    : object extends Value
      ? { [Key in Name]?: Value }
      : { [Key in Name]: Value };
export type RouteName = keyof Routes;
export type RouteInput<Name extends RouteName> = Member<'params', Routes[Name]['params']> &
  Member<'query', Routes[Name]['query']> &
  Member<'body', Routes[Name]['body']> &
  CallOptions;
/** Nothing, where the route needs nothing. */
export type RouteArguments<Name extends RouteName> =
  object extends RouteInput<Name> ? [input?: RouteInput<Name>] : [input: RouteInput<Name>];
export type RouteAnswer<Name extends RouteName> = Routes[Name]['answer'];

const REPEAT_FIRST_MS = 500;
const REPEAT_MAX_MS = 10_000;

/** Calls routes as the app and the user, and repeats what may be repeated. */
export class Caller {
  constructor(
    private readonly transport: Transport,
    private readonly app: AppSigner,
    private readonly session: Pick<SessionKeeper, 'accessToken'>,
    /** How often a query, or a command with an `Idempotency-Key`, is repeated after a failure that can pass. */
    private readonly repeats: number,
  ) {}

  /** @throws AnnalsError */
  async call<Name extends RouteName>(name: Name, ...[given]: RouteArguments<Name>): Promise<RouteAnswer<Name>> {
    const input: RequestInput & CallOptions = given ?? {};
    const request = this.transport.prepare(name, input);
    const mayRepeat = request.route.method === 'GET' || input.idempotencyKey !== undefined;
    const backoff = new Backoff(REPEAT_FIRST_MS, REPEAT_MAX_MS);
    for (let repeated = 0; ; repeated += 1) {
      try {
        return (await this.send(request, input)) as RouteAnswer<Name>;
      } catch (error) {
        input.signal?.throwIfAborted();
        const waitMs = pauseMs(backoff.take(), error);
        if (!mayRepeat || repeated >= this.repeats || !mayPassSoon(error) || waitMs > REPEAT_MAX_MS) throw error;
        await pause(waitMs, input.signal);
        input.signal?.throwIfAborted();
      }
    }
  }

  /** Sends a request again, once, with another token or timestamp if that was what it was refused for. */
  private async send(request: PreparedRequest, options: CallOptions): Promise<unknown> {
    const withKey = options.idempotencyKey === undefined ? {} : { 'idempotency-key': options.idempotencyKey };
    const needsToken = request.route.auth === 'bearer' || options.link === true;
    const headers = async (refused?: string) => {
      const token = needsToken ? await this.session.accessToken({ refused, signal: request.signal }) : undefined;
      const app = request.route.auth === 'app' ? await this.app.headers(request) : {};
      return { token, all: { ...app, ...withKey, ...(token !== undefined && { authorization: `Bearer ${token}` }) } };
    };
    const { token, all } = await headers();
    try {
      return await this.transport.send(request, all);
    } catch (error) {
      const isOfToken = token !== undefined && isTokenRefused(error);
      if (!isOfToken && !this.app.correctClock(error)) throw error;
      return await this.transport.send(request, (await headers(isOfToken ? token : undefined)).all);
    }
  }
}

const isTokenRefused = (error: unknown): boolean =>
  error instanceof AnnalsError && (error.code === 'token_expired' || error.code === 'token_invalid');

/** Of what can pass, what does so by itself: not what a failing storage or signer of the caller's says. */
const mayPassSoon = (error: unknown): boolean => error instanceof AnnalsError && canPass(error);
