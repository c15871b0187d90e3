import { Inject } from '@nestjs/common';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { SignatureEvent } from '../../../schemas/events/request-events.ts';
import { streamAccessText } from '../../../schemas/http/event-catcher/gateway-routes.ts';
import type { ProblemCode } from '../../../schemas/http/problem.ts';
import { ConnectionTokens, type StreamSigner } from '../../../shared/auth/connection-tokens.ts';
import { readAddressMember } from '../../../shared/chain/identifiers/address.ts';
import { outOfWindow, Refusal } from '../../../shared/errors/refusal.ts';
import type { Position } from '../../../shared/event-store/event-store.ts';
import { keptForRepeats } from '../../../shared/event-store/permanent-streams.ts';
import { Transactor } from '../../../shared/event-store/transactions/transact.ts';
import { readSignature } from '../../../shared/keys/signatures/read-signature.ts';
import { recoverSigner } from '../../../shared/keys/signatures/recover-signer.ts';
import { sha256 } from '../../../shared/primitives/ids.ts';
import { NODES, type Nodes } from '../edge/ports.ts';
import { StreamSigners } from './stream-signers.ts';

const WINDOW_MS = 60_000;
const usedFold = { initial: false, evolve: () => true };

export interface Validated {
  token: string;
  expiresAtMs: number;
  position: Position;
}

/** Admits an app or a user to one node. */
export class ValidateAccess extends Command<Validated> {
  constructor(
    readonly asked: { node: string; timestamp: string; signature: string },
    readonly metadata: EventMetadata,
    /** Called once the caller is known. */
    readonly callerIsKnown: () => void,
  ) {
    super();
  }
}

@CommandHandler(ValidateAccess)
export class ValidateAccessHandler implements ICommandHandler<ValidateAccess> {
  constructor(
    private readonly transactor: Transactor,
    private readonly tokens: ConnectionTokens,
    private readonly signers: StreamSigners,
    @Inject(NODES) private readonly nodes: Nodes,
  ) {}

  async execute({ asked, metadata, callerIsKnown }: ValidateAccess): Promise<Validated> {
    const { timestamp } = asked;
    const address = readAddressMember('node', asked.node);
    const signature = readSignature(asked.signature);
    const node = await this.nodes.find((announced) => announced.address === address);
    if (!node) throw refused('app_signature_invalid', 'the signature is for a node that is not here');
    const time = this.transactor.clock.now();
    if (Math.abs(Date.parse(timestamp) - time) > WINDOW_MS) {
      throw outOfWindow('timestamp is within a minute of now', time, { success: false });
    }
    const recovered = recoverSigner(streamAccessText(asked), signature);
    const signer = recovered === undefined ? undefined : await this.signers.find(recovered);
    if (recovered === undefined || !signer) {
      throw refused('app_signature_invalid', "the signature is neither by a key of an app nor by a user's wallet");
    }
    callerIsKnown();
    const position = await this.useOnce(`${address}\n${timestamp}\n${recovered}`, signer, metadata);
    return { ...this.tokens.issue(node, signer), position };
  }

  /**
   * The process that appends first uses up the signature. The stream is named by the signed text and the signer,
   * because one key can make several signatures of a text.
   */
  private async useOnce(signed: string, signer: StreamSigner, metadata: EventMetadata): Promise<Position> {
    const [type, id] = signer.kind === 'user' ? (['user', signer.userId] as const) : (['app', signer.appId] as const);
    const { appended, position } = await this.transactor.transact<boolean, SignatureEvent>({
      stream: `signature-${sha256(`stream access\n${signed}`)}`,
      fold: usedFold,
      keep: keptForRepeats,
      metadata: { ...metadata, actor: { type, id } },
      decide: (isUsed) => (isUsed ? [] : [{ type: 'SignatureUsed', data: { appId: id } }]),
    });
    if (!appended) throw refused('request_replayed', 'sign another time');
    return position;
  }
}

const refused = (code: ProblemCode, detail: string): Refusal =>
  new Refusal(code, detail, { members: { success: false } });
