import type { ModuleMetadata } from '@nestjs/common';
import { OWN_URL, ReadPersonalDataHandler } from './read-personal-data.handler.ts';
import { ReadPersonalDataHttp } from './read-personal-data.http.ts';

/** What is held about a person. */
export const openPersonalData = (ownUrl: () => string) =>
  ({
    controllers: [ReadPersonalDataHttp],
    providers: [{ provide: OWN_URL, useValue: ownUrl }, ReadPersonalDataHandler],
  }) satisfies ModuleMetadata;
