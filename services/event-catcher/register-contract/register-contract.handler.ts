import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import { registeredContract, type RegisteredContract } from '../../../schemas/http/event-catcher-routes.ts';
import { claimantText } from '../../../shared/chain/claimant.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { registerContract, watchFold, watchStream, type Registration } from '../domain/watch.ts';
import { CHAINS, type SupportedChain } from '../edge/ports.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchStates } from '../edge/watch-states.ts';
import { readRegistration, type AskedRegistration } from './read-registration.ts';

export interface Registered {
  contract: RegisteredContract;
  /** Whether this registration created the watch. */
  isNew: boolean;
  position: Position;
}

/** Registers an event of a contract: whoever asks claims it. */
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
    private readonly states: WatchStates,
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
      state: await this.states.stateOf(state),
      ...(warnings.length > 0 && { warnings }),
    });
    return { contract, isNew: before === undefined, position };
  }

  /** A claim that is there already counts nothing more. */
  private async takeQuota({ watchId, appId, userId }: Registration, metadata: EventMetadata): Promise<void> {
    const { state } = await this.transactor.load(watchStream(watchId), watchFold);
    if (!state?.claims.includes(claimantText({ appId, userId })))
      await this.quotas.take({ watchId, appId, userId }, metadata);
  }
}
