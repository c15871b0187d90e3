import { Readable } from 'node:stream';
import { Controller, StreamableFile } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { Apps } from '../../../shared/auth/apps.ts';
import { Implements, type ParsedRequest } from '../../../shared/edge/requests/implements.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import { personalDataModels, ReadPersonalData } from './read-personal-data.handler.ts';

const { readPersonalData } = accountRoutes;

@Controller()
export class ReadPersonalDataHttp {
  constructor(
    private readonly queries: QueryBus,
    private readonly apps: Apps,
  ) {}

  @Implements(readPersonalData, { reads: personalDataModels })
  async read({ params, caller, context }: ParsedRequest<typeof readPersonalData>) {
    if (params.id !== caller.userId) throw new Refusal('forbidden', 'only the user can read what is held about them');
    await this.apps.requireTrusted(caller.appId);
    const text = await this.queries.execute(new ReadPersonalData(params.id, caller.sessionId, context.ended()));
    return new StreamableFile(Readable.from(text, { objectMode: false }), { type: 'application/json; charset=utf-8' });
  }
}
