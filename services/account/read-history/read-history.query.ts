import { Query } from '@nestjs/cqrs';
import type { HistoryPage } from '../../../schemas/http/account-routes.ts';

export class ReadHistory extends Query<HistoryPage> {
  constructor(
    readonly userId: string,
    readonly page: { take: number; cursor?: string | undefined; type?: string | undefined },
  ) {
    super();
  }
}
