import shared from '@eventstore/db-client/generated/shared_pb.js';
import type { UUID } from '@eventstore/db-client/generated/shared_pb.js';
import status from '@eventstore/db-client/generated/status_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type {
  BatchAppendReq,
  BatchAppendResp,
  DeleteReq,
  TombstoneReq,
} from '@eventstore/db-client/generated/streams_pb.js';
import { Metadata, status as grpcStatus, type ServiceError } from '@grpc/grpc-js';
import any from 'google-protobuf/google/protobuf/any_pb.js';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import type { Encode, Expectation, Outcome, ProposedEvent } from './event-log.ts';

const toBytes = (message: { serializeBinary(): Uint8Array }): Buffer => {
  const { buffer, byteOffset, byteLength } = message.serializeBinary();
  return Buffer.from(buffer, byteOffset, byteLength);
};

export const uuidText = (uuid: UUID | undefined): string => uuid?.getString() ?? '';

export const streamName = (request: { getStreamIdentifier(): shared.StreamIdentifier | undefined }): string =>
  Buffer.from(request.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString();

const toIdentifier = (name: string): shared.StreamIdentifier =>
  new shared.StreamIdentifier().setStreamName(Buffer.from(name));

export const toProposed = (message: BatchAppendReq.ProposedMessage): ProposedEvent => ({
  id: uuidText(message.getId()),
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? '',
  data: message.getData_asU8(),
  metadata: message.getCustomMetadata_asU8(),
});

export const encodeEvent: Encode = (event, { stream, revision, position }) => {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(event.id))
    .setStreamIdentifier(toIdentifier(stream))
    .setStreamRevision(String(revision))
    .setPreparePosition(String(position))
    .setCommitPosition(String(position))
    .setCustomMetadata(event.metadata)
    .setData(event.data);
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.contentType)
    .set('created', `${String(Date.now())}0000`);
  return toBytes(
    new streams.ReadResp().setEvent(
      new streams.ReadResp.ReadEvent().setEvent(recorded).setCommitPosition(String(position)),
    ),
  );
};

export const confirmation = (id: string): Buffer =>
  toBytes(
    new streams.ReadResp().setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id)),
  );

export const caughtUp = (): Buffer => toBytes(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()));

export const fellBehind = (): Buffer =>
  toBytes(new streams.ReadResp().setFellBehind(new streams.ReadResp.FellBehind()));

export const checkpoint = (commit: number, prepare: number): Buffer =>
  toBytes(
    new streams.ReadResp().setCheckpoint(
      new streams.ReadResp.Checkpoint().setCommitPosition(String(commit)).setPreparePosition(String(prepare)),
    ),
  );

export const streamNotFound = (name: string): Buffer =>
  toBytes(
    new streams.ReadResp().setStreamNotFound(
      new streams.ReadResp.StreamNotFound().setStreamIdentifier(toIdentifier(name)),
    ),
  );

/** Makes an error that the client identifies by its name, `exception`, with its details. */
export const namedError = (code: grpcStatus, exception: string, details: Record<string, string>): ServiceError => {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries({ exception, ...details })) metadata.set(name, value);
  return Object.assign(new Error(exception), { code, details: exception, metadata });
};

export const notLeader = (leader: { host: string; port: number }): ServiceError =>
  namedError(grpcStatus.NOT_FOUND, 'not-leader', {
    'leader-endpoint-host': leader.host,
    'leader-endpoint-port': String(leader.port),
  });

const NOT_READY = 'Server Is Not Ready';

/** For reads; appends are answered by `batchAnswer`. */
export const notReady = (): ServiceError =>
  Object.assign(new Error(NOT_READY), {
    code: grpcStatus.UNAVAILABLE,
    details: NOT_READY,
    metadata: new Metadata(),
  });

export const streamDeleted = (stream: string): ServiceError =>
  namedError(grpcStatus.FAILED_PRECONDITION, 'stream-deleted', { 'stream-name': stream });

export const wrongExpectedVersion = (stream: string, expected: Expectation, actual: number): ServiceError =>
  namedError(grpcStatus.FAILED_PRECONDITION, 'wrong-expected-version', {
    'stream-name': stream,
    'expected-version': String(typeof expected === 'number' ? expected : -1),
    ...(actual < 0 ? {} : { 'actual-version': String(actual) }),
  });

export const batchExpectation = (options: BatchAppendReq.Options): Expectation => {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no-stream';
  return options.hasStreamExists() ? 'stream-exists' : Number(options.getStreamPosition());
};

export const expectation = (options: DeleteReq.Options | TombstoneReq.Options): Expectation => {
  if (options.hasAny()) return 'any';
  if (options.hasNoStream()) return 'no-stream';
  return options.hasStreamExists() ? 'stream-exists' : Number(options.getRevision());
};

interface BatchAnswer {
  correlationId: UUID | undefined;
  stream: string;
  expected: Expectation;
  outcome: Outcome | Refused;
}

/** Refusals that the log does not decide. */
export type Refused = { kind: 'too-large'; bytesMax: number } | { kind: 'not-ready' } | { kind: 'too-late' };

export const batchAnswer = ({ correlationId, stream, expected, outcome }: BatchAnswer): BatchAppendResp => {
  const answer = new streams.BatchAppendResp()
    .setCorrelationId(correlationId)
    .setStreamIdentifier(toIdentifier(stream));
  switch (outcome.kind) {
    case 'written':
      return answer.setSuccess(
        new streams.BatchAppendResp.Success()
          .setCurrentRevision(String(outcome.revision))
          .setPosition(outcome.position === undefined ? undefined : toAllPosition(outcome.position)),
      );
    case 'conflict':
      return answer.setError(toStatus('WrongExpectedVersion', toConflict(expected, outcome.actual)));
    case 'deleted':
      return answer.setError(
        toStatus('StreamDeleted', new shared.StreamDeleted().setStreamIdentifier(toIdentifier(stream))),
      );
    case 'not-ready':
      return answer.setError(toStatus(NOT_READY));
    case 'too-late':
      return answer.setError(toStatus('Timeout', new shared.Timeout()));
    case 'too-large':
      return answer.setError(
        toStatus(
          'MaximumAppendSizeExceeded',
          new shared.MaximumAppendSizeExceeded().setMaxappendsize(outcome.bytesMax),
        ),
      );
  }
};

const toAllPosition = (position: number): shared.AllStreamPosition =>
  new shared.AllStreamPosition().setCommitPosition(String(position)).setPreparePosition(String(position));

const toConflict = (expected: Expectation, actual: number): shared.WrongExpectedVersion => {
  const conflict = new shared.WrongExpectedVersion();
  if (actual < 0) conflict.setCurrentNoStream(new empty.Empty());
  else conflict.setCurrentStreamRevision(String(actual));
  if (expected === 'no-stream') return conflict.setExpectedNoStream(new empty.Empty());
  if (expected === 'stream-exists') return conflict.setExpectedStreamExists(new empty.Empty());
  return expected === 'any'
    ? conflict.setExpectedAny(new empty.Empty())
    : conflict.setExpectedStreamPosition(String(expected));
};

const toStatus = (name: string, detail?: { serializeBinary(): Uint8Array }): status.Status => {
  const packed = new any.Any();
  if (detail) packed.pack(detail.serializeBinary(), `event_store.client.${name}`);
  else packed.pack(new empty.Empty().serializeBinary(), 'google.protobuf.Empty');
  return new status.Status().setMessage(name).setDetails(packed);
};
