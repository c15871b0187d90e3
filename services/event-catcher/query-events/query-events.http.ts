import { Readable } from 'node:stream';
import { Controller, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { eventCatcherRoutes, type EventPage } from '../../../schemas/http/event-catcher-routes.ts';
import { chainEventsModel } from '../../../shared/read-models/chain-events.ts';
import { chainsModel } from '../../../shared/read-models/chains.ts';
import { watchesModel } from '../../../shared/read-models/watches.ts';
import { holderKey } from '../../../shared/auth/holder-key.ts';
import { claimantOf } from '../../../shared/auth/claimant.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/implements.ts';
import { argumentsOf } from './argument-filter.ts';
import { ExportEvents } from './export-events.handler.ts';
import { exportFormat, exportFormats } from './export-format.ts';
import { QueryEvents } from './query-events.handler.ts';

const { queryEvents } = eventCatcherRoutes;

@Controller()
export class QueryEventsHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(queryEvents, { reads: [watchesModel.name, chainsModel.name, chainEventsModel.name] })
  async query({ query, caller, context }: ParsedRequest<typeof queryEvents>): Promise<EventPage | StreamableFile> {
    const asked = { ...query, caller: claimantOf(caller), arguments: argumentsOf(query) };
    const asker = { holderKey: holderKey(caller), ended: context.ended() };
    const format = exportFormat(context.header('accept'));
    if (!format) return this.queries.execute(new QueryEvents(asked, asker));
    const text = await this.queries.execute(new ExportEvents(asked, asker, exportFormats[format]));
    return new StreamableFile(Readable.from(text, { objectMode: false }), { type: exportFormats[format].contentType });
  }
}
