import { Readable } from 'node:stream';
import { Controller, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type EventPage } from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { chainEventsModel } from '../../../shared/read-models/event-catcher/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/event-catcher/chains.ts';
import { watchesModel } from '../../../shared/read-models/event-catcher/watches.ts';
import { holderKey } from '../../../shared/auth/holder-key.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import { AsOfParameter } from '../../../shared/edge/requests/as-of.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { argumentsOf } from './argument-filter.ts';
import { ExportEvents } from './export-events.handler.ts';
import { exportFormat, exportFormats } from './export-format.ts';
import { QueryEvents } from './query-events.handler.ts';

const { queryEvents } = eventCatcherRoutes;

@Controller()
export class QueryEventsHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly asOf: AsOfParameter,
  ) {}

  @Implements(queryEvents, { reads: [watchesModel.name, chainsModel.name, chainEventsModel.name] })
  async query({ query, caller, context }: ParsedRequest<typeof queryEvents>): Promise<EventPage | StreamableFile> {
    const earlier = query.asOf === undefined ? undefined : await this.asOf.read(query.asOf);
    const asked = { ...query, caller: claimantOf(caller), arguments: argumentsOf(query), earlier };
    const asker = { holderKey: holderKey(caller), ended: context.ended(), showAsOf: context.showAsOf };
    const format = exportFormat(context.header('accept'));
    if (!format) return this.queries.execute(new QueryEvents(asked, asker));
    const text = await this.queries.execute(new ExportEvents(asked, asker, exportFormats[format]));
    return new StreamableFile(Readable.from(text, { objectMode: false }), { type: exportFormats[format].contentType });
  }
}
