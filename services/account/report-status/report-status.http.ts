import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../schemas/http/account/account-routes.ts';
import { Implements } from '../../../shared/edge/requests/implements.ts';
import { ReportStatus } from './report-status.handler.ts';

@Controller()
export class ReportStatusHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(accountRoutes.status)
  status() {
    return this.queries.execute(new ReportStatus());
  }
}
