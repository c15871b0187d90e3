import { Controller } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { accountRoutes } from '../../../../schemas/http/account/account-routes.ts';
import { Implements, type ParsedRequest } from '../../../../shared/edge/requests/implements.ts';
import { EstimateGas } from './estimate-gas.handler.ts';

const { estimateGas } = accountRoutes;

@Controller()
export class EstimateGasHttp {
  constructor(private readonly queries: QueryBus) {}

  @Implements(estimateGas)
  estimate({ body, caller, context }: ParsedRequest<typeof estimateGas>) {
    return this.queries.execute(new EstimateGas(body, caller, context.ended()));
  }
}
