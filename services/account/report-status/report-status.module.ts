import type { ModuleMetadata } from '@nestjs/common';
import { ChainStatuses } from './chain-statuses.ts';
import { ReportStatusHandler } from './report-status.handler.ts';
import { ReportStatusHttp } from './report-status.http.ts';

/** The status of the service and of its chains. */
export const openStatus = (chainStatuses: ChainStatuses) =>
  ({
    controllers: [ReportStatusHttp],
    providers: [{ provide: ChainStatuses, useValue: chainStatuses }, ReportStatusHandler],
  }) satisfies ModuleMetadata;
