import { Inject } from '@nestjs/common';
import { Query, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import {
  registeredContract,
  type RegisteredContract,
} from '../../../schemas/http/event-catcher/event-catcher-routes.ts';
import { claimantText } from '../../../shared/chain/identifiers/claimant.ts';
import { checksumAddress } from '../../../shared/chain/identifiers/address.ts';
import { logIdOf } from '../../../shared/chain/identifiers/log-id.ts';
import { CLOCK } from '../../../shared/edge/tokens.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import type { Clock } from '../../../shared/primitives/clock.ts';
import { compileDecoder } from '../domain/decoding/log-decoder.ts';
import { registerContract, watchFold, watchStream } from '../domain/watches/watch.ts';
import { CHAINS, type SupportedChain } from '../edge/ports.ts';
import { WatchQuotas } from '../edge/watch-quotas.ts';
import { WatchStatuses } from '../edge/watch-statuses.ts';
import { findMisfit, misfitOf } from './misfit-warning.ts';
import { readRegistration, type AskedRegistration } from './read-registration.ts';
import { estimateBackfill, findMissing, sampleLogs } from './sample-logs.ts';

/** Tries a registration, and changes nothing. */
export class TryRegistration extends Query<{ contract: RegisteredContract; position: Position }> {
  constructor(
    readonly asked: AskedRegistration,
    readonly metadata: EventMetadata,
  ) {
    super();
  }
}

const SAMPLE_WITHIN_MS = 5_000;
/** Of the 15 s in which the answer must begin, including everything that is requested before the sample. */
const ALL_WITHIN_MS = 13_000;

@QueryHandler(TryRegistration)
export class TryRegistrationHandler implements IQueryHandler<TryRegistration> {
  constructor(
    private readonly transactor: Transactor,
    private readonly statuses: WatchStatuses,
    private readonly quotas: WatchQuotas,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(CHAINS) private readonly chains: ReadonlyMap<number, SupportedChain>,
  ) {}

  async execute({ asked, metadata }: TryRegistration): Promise<{ contract: RegisteredContract; position: Position }> {
    const endsAt = performance.now() + ALL_WITHIN_MS;
    const { transactor, chains } = this;
    const { registration, chain, warnings } = await readRegistration(asked, { transactor, chains, samples: false });
    const { watchId, startBlock, headBlock, appId, userId } = registration;
    const { state: before, position } = await transactor.load(watchStream(watchId), watchFold);
    if (!before?.claims.includes(claimantText({ appId, userId })))
      await this.quotas.check({ watchId, appId, userId }, metadata);
    const leftMs = () => endsAt - performance.now();
    const withinMs = () => Math.min(SAMPLE_WITHIN_MS, leftMs());
    const missing = await findMissing(chain, registration, { from: startBlock, to: headBlock, withinMs: withinMs() });
    const from = missing ? missing.toBlock + 1 : startBlock;
    const reading = await sampleLogs(chain, registration, { from, to: headBlock, withinMs: withinMs() });
    const misfit =
      reading.logs.length > 0
        ? misfitOf(registration, reading.logs)
        : await findMisfit(chain, registration, { to: startBlock - 1, withinMs: leftMs() });
    if (misfit !== undefined) warnings.push(misfit);
    const watch = registerContract(before, registration).reduce(
      (known, event) => watchFold.evolve(known, event, this.clock.now()),
      before,
    );
    if (!watch) throw new Error('a registration makes a watch');
    const decode = compileDecoder(registration.fragment, checksumAddress);
    const readUpTo = before ? before.startBlock - 1 : headBlock;
    const contract = registeredContract.parse({
      ...watch,
      state: await this.statuses.stateOf(watch),
      ...(warnings.length > 0 && { warnings }),
      ...(missing && { gaps: [missing] }),
      sample: reading.logs.map((log) => ({
        Id: logIdOf({
          ChainId: registration.chainId,
          BlockHash: log.blockHash,
          TxHash: log.txHash,
          LogIndex: log.logIndex,
        }),
        BlockNumber: log.blockNumber,
        BlockHash: log.blockHash,
        TxHash: log.txHash,
        TxIndex: log.txIndex,
        LogIndex: log.logIndex,
        Data: decode(log),
      })),
      estimate: estimateBackfill(reading, Math.max(0, readUpTo - from + 1)),
    });
    return { contract, position };
  }
}
