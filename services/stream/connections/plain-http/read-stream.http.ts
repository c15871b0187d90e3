import { Controller, Inject, StreamableFile, UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { streamRoutes } from '../../../../schemas/http/stream/stream-routes.ts';
import { claimantOf } from '../../../../shared/auth/claimant.ts';
import { holderKey } from '../../../../shared/auth/holder-key.ts';
import type { Settings } from '../../../../shared/config/settings.ts';
import { addressKey } from '../../../../shared/edge/limits/rate-limits.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import type { RequestContext } from '../../../../shared/edge/requests/request-context.ts';
import { preferredType } from '../../../../shared/edge/requests/preferred-type.ts';
import { IDS, SETTINGS } from '../../../../shared/edge/tokens.ts';
import type { Ids } from '../../../../shared/primitives/ids.ts';
import { watchesModel } from '../../../../shared/read-models/event-catcher/watches.ts';
import { Connections, type Connection } from '../connections.ts';
import type { SubscriptionCommands } from '../../domain/subscriber.ts';
import type { StreamLimits } from '../../edge/stream-limits.ts';
import type { StreamMetrics } from '../../edge/stream-metrics.ts';
import { STREAM_LIMITS, STREAM_METRICS, STREAM_PAGES, SUBSCRIPTIONS } from '../../edge/tokens.ts';
import { EventStream } from './event-stream.ts';
import type { Requester } from './http-subscriber.ts';
import { PageRequest } from './page-request.ts';
import { isPublic } from './public-chains.ts';
import type { StreamPages, WrittenPage } from './stream-pages.ts';
import { StreamTokenGuard } from './stream-token.guard.ts';

const { readStream } = streamRoutes;
type Asked = ParsedRequest<typeof readStream>;

const JSON_TYPE = 'application/json; charset=utf-8';
const YEAR_S = 31_536_000;
const ID_CHARACTERS = 20;
const WAIT_MAX_S = 30;

const waitMsOf = ({ query }: FastifyRequest): number => {
  const wait = Number((query as Record<string, unknown>)['wait'] ?? 0);
  return wait > 0 ? Math.min(wait, WAIT_MAX_S) * 1_000 : 0;
};

/** Serves the stream over plain HTTP: as server-sent events, or in pages of JSON. */
@Controller()
@UseGuards(StreamTokenGuard)
export class ReadStreamHttp {
  constructor(
    private readonly connections: Connections,
    @Inject(SUBSCRIPTIONS) private readonly subscriptions: SubscriptionCommands,
    @Inject(STREAM_PAGES) private readonly pages: StreamPages,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'CHAINS'>,
    @Inject(STREAM_METRICS) private readonly metrics: StreamMetrics,
    @Inject(STREAM_LIMITS) private readonly limits: StreamLimits,
    @Inject(IDS) private readonly ids: Ids,
  ) {}

  @Implements(readStream, { reads: [watchesModel.name], moreTimeMs: waitMsOf, mayLast: true })
  async read(asked: Asked): Promise<StreamableFile> {
    const isEventStream = preferredType(asked.context.header('accept'), ['text/event-stream']) !== undefined;
    return isEventStream ? this.eventStream(asked) : this.page(asked);
  }

  private async eventStream({ query, caller, context }: Asked): Promise<StreamableFile> {
    const requester = this.requesterOf(query, caller, context);
    const stream = new EventStream(requester, this.metrics, this.limits);
    stream.signal.addEventListener('abort', () => {
      this.subscriptions.closeAll(stream);
    });
    const lastEventId = context.header('last-event-id');
    const command = commandOf(lastEventId ? { ...query, cursor: lastEventId, fromBlock: undefined } : query);
    try {
      this.register(stream, requester);
      await this.subscriptions.open(stream, command, (answer, lastError) => {
        stream.begin(answer, lastError);
      });
    } catch (error) {
      stream.disconnect();
      throw error;
    }
    // nginx would keep back events until it has some kilobytes of them.
    context.setHeaders({ 'x-accel-buffering': 'no' });
    return new StreamableFile(stream.output, { type: 'text/event-stream' });
  }

  private async page({ query, caller, context }: Asked): Promise<StreamableFile> {
    const requester = this.requesterOf(query, caller, context);
    const { collectingMs } = this.limits;
    const waitMs = (query.wait ?? 0) * 1_000;
    const request = new PageRequest(requester, { take: query.take, waitMs, collectingMs });
    try {
      this.register(request, requester);
      return this.answer(await this.pages.read(request, commandOf(query)), query.chainId, context);
    } finally {
      request.disconnect();
    }
  }

  private answer({ json, etag, cursor, live }: WrittenPage, chainId: number, context: RequestContext): StreamableFile {
    const bytes = Buffer.from(json);
    // As in the Durable Streams protocol.
    context.setHeaders({ 'stream-next-offset': cursor, ...(live && { 'stream-up-to-date': 'true' }) });
    if (etag !== undefined) {
      const scope = isPublic(this.settings, chainId) ? 'public' : 'private';
      context.setHeaders({ etag, 'cache-control': `${scope}, max-age=${String(YEAR_S)}, immutable` });
    }
    if (etag === undefined || context.header('if-none-match') !== etag)
      return new StreamableFile(bytes, { type: JSON_TYPE, length: bytes.length });
    context.answerBy(304);
    return new StreamableFile(new Uint8Array(), { type: JSON_TYPE });
  }

  /** Counts the request as a connection of its caller until it ends. @throws Refusal shutting_down, rate_limited */
  private register(connection: Connection, { holderKey: holder, signal }: Requester): void {
    const id = this.ids.token(ID_CHARACTERS);
    this.connections.reserve(holder, id);
    this.connections.add(connection);
    signal.addEventListener('abort', () => {
      this.connections.remove(connection);
      this.connections.release(holder, id);
    });
  }

  /** @throws the signal's reason if the client has left: no `abort` event would end what is begun for it */
  private requesterOf({ chainId }: Asked['query'], caller: Asked['caller'], context: RequestContext): Requester {
    const signal = context.ended();
    signal.throwIfAborted();
    return {
      caller,
      holderKey: caller ? holderKey(caller) : `address:${addressKey(context.ip)}`,
      claimant: caller && !isPublic(this.settings, chainId) ? claimantOf(caller) : undefined,
      signal,
    };
  }
}

/** Leaves out what is not said of the subscription. */
const commandOf = ({ take: _take, wait: _wait, access_token: _token, ...command }: Asked['query']) => command;
