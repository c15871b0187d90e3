import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import {
  registeredContract,
  type RegisteredContract,
} from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { claimantText } from '../../../shared/chain/identifiers/claimant.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { registerContract, watchFold, watchStream, type Registration } from '../domain/watches/watch.ts';
import { CHAINS, type SupportedChain } from '../edge/ports.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchStatuses } from '../edge/watch-statuses.ts';
import { readRegistration, type AskedRegistration } from './read-registration.ts';

export interface Registered {
  contract: RegisteredContract;
  /** Whether this registration created the watch. */
  isNew: boolean;
  position: Position;
}

/** Registers an event of a contract for a claimant. */
export class RegisterContract extends Command<Registered> {
  constructor(
    readonly asked: AskedRegistration,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(RegisterContract)
export class RegisterContractHandler implements ICommandHandler<RegisterContract> {
  constructor(
    private readonly transactor: Transactor,
    private readonly statuses: WatchStatuses,
    private readonly quotas: WatchQuotas,
    @Inject(CHAINS) private readonly chains: ReadonlyMap<number, SupportedChain>,
  ) {}

  async execute({ asked, metadata }: RegisterContract): Promise<Registered> {
    const { registration, warnings } = await readRegistration(asked, {
      transactor: this.transactor,
      chains: this.chains,
      samples: true,
    });
    await this.takeQuota(registration, metadata);
    const { before, state, position } = await this.transactor.transact({
      stream: watchStream(registration.watchId),
      fold: watchFold,
      metadata,
      decide: (known) => registerContract(known, registration),
    });
    if (!state) throw new Error('the registered watch was not found');
    const { watchId, appId, userId } = registration;
    if (!before?.claims.includes(claimantText(registration))) {
      const refusal = await this.quotas.keep({ watchId, appId, userId }, metadata);
      if (refusal) throw refusal;
    }
    const contract = registeredContract.parse({
      ...state,
      state: await this.statuses.stateOf(state),
      ...(warnings.length > 0 && { warnings }),
    });
    return { contract, isNew: before === undefined, position };
  }

  /** A claim that exists already is not counted again. */
  private async takeQuota({ watchId, appId, userId }: Registration, metadata: EventMetadata): Promise<void> {
    const { state } = await this.transactor.load(watchStream(watchId), watchFold);
    if (!state?.claims.includes(claimantText({ appId, userId })))
      await this.quotas.take({ watchId, appId, userId }, metadata);
  }
}
