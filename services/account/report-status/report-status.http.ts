import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes, type AccountStatus } from '../../../schemas/http/account-routes.ts';
import { Implements } from '../../../shared/edge/implements.ts';
import { ReportStatus } from './report-status.handler.ts';

@Controller()
export class ReportStatusHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(accountRoutes.status)
  status(): Promise<AccountStatus> {
    return this.queries.execute(new ReportStatus());
  }
}
