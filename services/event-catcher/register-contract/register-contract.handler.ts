import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { RegisteredContract } from '../../../schemas/http/event-catcher-routes.ts';
import { readAddressMember } from '../../../shared/chain/address.ts';
import { canonicalSignature, parseEventSignature } from '../../../shared/chain/event-signature.ts';
import { Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transact.ts';
import { findEvent, signatureOf } from '../domain/event-abi.ts';
import {
  formerWatchIdOf,
  isSameFragment,
  registerContract,
  watchFold,
  watchIdOf,
  watchStream,
  type Registration,
  type Watched,
} from '../domain/watch.ts';
import { CHAINS, type SupportedChain } from '../edge/ports.ts';
import { topic0Of } from '../domain/topic0.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchModels } from '../edge/watch-models.ts';
import { resolveStartBlock } from './start-block.ts';

export interface Registered {
  contract: RegisteredContract;
  /** Whether this registration created the watch. */
  isNew: boolean;
  position: Position;
}

/** Registers an event of a contract for one app. */
export class RegisterContract extends Command<Registered> {
  constructor(
    readonly asked: {
      appId: string;
      /** `null`: the app itself registers it. */
      userId: string | null;
      chainId: number;
      contractAddress: string;
      eventSignature: string;
      eventAbi: unknown;
      startBlock: number | 'deploy';
    },
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

@CommandHandler(RegisterContract)
export class RegisterContractHandler implements ICommandHandler<RegisterContract> {
  constructor(
    private readonly transactor: Transactor,
    private readonly models: WatchModels,
    private readonly quotas: WatchQuotas,
    @Inject(CHAINS) private readonly chains: ReadonlyMap<number, SupportedChain>,
  ) {}

  async execute({ asked, metadata }: RegisterContract): Promise<Registered> {
    const { chainId, appId } = asked;
    const contractAddress = readAddressMember('contractAddress', asked.contractAddress);
    const chain = this.chains.get(chainId);
    if (!chain) throw new Refusal('chain_not_supported', `chain ${String(chainId)} is not followed here`);
    const fragment = findEvent(asked.eventAbi, parseEventSignature(asked.eventSignature));
    const { startBlock, headBlock, warnings } = await resolveStartBlock(chain, contractAddress, asked.startBlock);
    const watched = { chainId, contractAddress, fragment };
    const registration = {
      ...watched,
      watchId: await this.watchIdOf(watched),
      eventName: fragment.name,
      eventSignature: canonicalSignature(signatureOf(fragment)),
      topic0: topic0Of(fragment),
      startBlock,
      appId,
      headBlock,
    };
    await this.takeQuota(registration, asked.userId, metadata);
    const { before, state, position } = await this.transactor.transact({
      stream: watchStream(registration.watchId),
      fold: watchFold,
      metadata,
      decide: (known) => registerContract(known, registration),
    });
    if (!state) throw new Error('the registered watch was not found');
    const contract = {
      id: state.id,
      chainId,
      contractAddress,
      eventName: state.eventName,
      eventSignature: state.eventSignature,
      topic0: state.topic0,
      startBlock: state.startBlock,
      state: await this.models.stateOf(state),
      createdAt: state.createdAt,
      ...(warnings.length > 0 && { warnings }),
    };
    return { contract, isNew: before === undefined, position };
  }

  /** A watch that was registered when its id depended on its signature only keeps that id. */
  private async watchIdOf(watched: Watched): Promise<string> {
    const formerId = formerWatchIdOf(watched);
    const { state } = await this.transactor.load(watchStream(formerId), watchFold);
    return state && isSameFragment(state.fragment, watched.fragment) ? formerId : watchIdOf(watched);
  }

  /** A registration that the app holds already counts nothing more. */
  private async takeQuota(
    { watchId, appId }: Registration,
    userId: string | null,
    metadata: EventMetadata,
  ): Promise<void> {
    const { state } = await this.transactor.load(watchStream(watchId), watchFold);
    if (!state?.apps.includes(appId)) await this.quotas.take({ watchId, appId, userId }, metadata);
  }
}
