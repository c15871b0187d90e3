import { Query } from '@nestjs/cqrs';
import type { AccountStatus } from '../../../schemas/http/account-routes.ts';

export class ReportStatus extends Query<AccountStatus> {}
