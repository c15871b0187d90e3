import streams from '@eventstore/db-client/generated/streams_pb.js';
import type {
  BatchAppendReq,
  BatchAppendResp,
  DeleteReq,
  DeleteResp,
  TombstoneReq,
  TombstoneResp,
} from '@eventstore/db-client/generated/streams_pb.js';
import type { sendUnaryData, ServerDuplexStream, ServerUnaryCall, ServiceError } from '@grpc/grpc-js';
import type { EventLog, Expectation, Outcome, ProposedEvent } from './event-log.ts';
import type { Faults } from './faults.ts';
import {
  batchAnswer,
  batchExpectation,
  expectation,
  notLeader,
  notReady,
  streamDeleted,
  streamName,
  toProposed,
  uuidText,
  wrongExpectedVersion,
  type Refused,
} from './wire.esdb.ts';

export type DeleteCall = ServerUnaryCall<DeleteReq, DeleteResp>;
export type TombstoneCall = ServerUnaryCall<TombstoneReq, TombstoneResp>;

interface OpenAppend {
  stream: string;
  expected: Expectation;
  events: ProposedEvent[];
  /** Unix milliseconds by the client's clock. */
  deadline: number;
}

interface Removed {
  setCommitPosition(value: string): unknown;
  setPreparePosition(value: string): unknown;
}

/** Answers all calls that write. */
export class Writing {
  constructor(
    private readonly log: EventLog,
    private readonly faults: Faults,
    private readonly appendBytesMax: number,
    private readonly dropConnections: () => void,
  ) {}

  /** Many appends on one call, each answered with its correlation id, in the order of completion. */
  batchAppend(call: ServerDuplexStream<BatchAppendReq, BatchAppendResp>): void {
    const open = new Map<string, OpenAppend>();
    let last = Promise.resolve();
    call.on('data', (request: BatchAppendReq) => {
      const correlationId = request.getCorrelationId();
      const options = request.getOptions();
      const id = uuidText(correlationId);
      if (options) {
        const deadline = options.getDeadline()?.toDate().getTime() ?? Infinity;
        open.set(id, { stream: streamName(options), expected: batchExpectation(options), events: [], deadline });
      }
      const append = open.get(id);
      if (!append) return;
      append.events.push(...request.getProposedMessagesList().map(toProposed));
      if (!request.getIsFinal()) return;
      open.delete(id);
      last = last.then(async () => {
        const outcome = await this.take(append, () => !call.cancelled);
        if (outcome === 'not-leader') call.emit('error', this.refusal());
        else if (outcome) call.write(batchAnswer({ correlationId, ...append, outcome }));
      });
    });
    call.on('end', () => call.end());
  }

  async delete(call: DeleteCall, answer: sendUnaryData<DeleteResp>): Promise<void> {
    const position = new streams.DeleteResp.Position();
    await this.remove('delete', call.request.getOptions(), position, (error) => {
      answer(error, error ? null : new streams.DeleteResp().setPosition(position));
    });
  }

  async tombstone(call: TombstoneCall, answer: sendUnaryData<TombstoneResp>): Promise<void> {
    const position = new streams.TombstoneResp.Position();
    await this.remove('tombstone', call.request.getOptions(), position, (error) => {
      answer(error, error ? null : new streams.TombstoneResp().setPosition(position));
    });
  }

  private async remove(
    how: 'delete' | 'tombstone',
    options: DeleteReq.Options | TombstoneReq.Options | undefined,
    position: Removed,
    answer: (error: Error | null) => void,
  ): Promise<void> {
    if (!options) throw new Error('a removal without options');
    if (this.faults.isSlow) await this.faults.slowness();
    const refused = this.refusal();
    if (refused) {
      answer(refused);
      return;
    }
    const stream = streamName(options);
    const expected = expectation(options);
    const outcome = this.log[how](stream, expected);
    if (outcome.kind === 'written') {
      position.setCommitPosition(String(outcome.position ?? 0));
      position.setPreparePosition(String(outcome.position ?? 0));
      answer(null);
    } else {
      answer(
        outcome.kind === 'deleted' ? streamDeleted(stream) : wrongExpectedVersion(stream, expected, outcome.actual),
      );
    }
  }

  /** Returns the error that refuses the whole call. */
  private refusal(): ServiceError | undefined {
    const { leader, isStarting } = this.faults;
    if (isStarting) return notReady();
    return leader && notLeader(leader);
  }

  /** @returns `undefined` when the append must not be answered */
  private async take(
    { stream, expected, events, deadline }: OpenAppend,
    isAwaited: () => boolean,
  ): Promise<Outcome | Refused | 'not-leader' | undefined> {
    if (this.faults.isSlow) await this.faults.slowness();
    // An append that was still unprocessed when its connection was cut is lost.
    if (!isAwaited()) return undefined;
    if (this.faults.isStarting) return { kind: 'not-ready' };
    if (this.faults.leader) return 'not-leader';
    if (deadline <= Date.now() + this.faults.clockAheadMs) return { kind: 'too-late' };
    if (this.faults.dropBeforeWrite > 0) {
      this.faults.dropBeforeWrite -= 1;
      this.dropConnections();
      return undefined;
    }
    const bytes = events.reduce(
      (sum, { data, metadata, type }) => sum + data.length + metadata.length + type.length,
      0,
    );
    if (bytes > this.appendBytesMax) return { kind: 'too-large', bytesMax: this.appendBytesMax };
    const outcome = this.log.append(stream, expected, events);
    if (this.faults.dropAfterWrite > 0) {
      this.faults.dropAfterWrite -= 1;
      this.dropConnections();
      return undefined;
    }
    return outcome;
  }
}
