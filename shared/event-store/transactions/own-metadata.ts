import type { EventMetadata } from '../../../schemas/events/event.ts';
import type { Ids } from '../../primitives/ids.ts';

const own = (ids: Ids, actor: EventMetadata['actor']): EventMetadata => ({ correlationId: ids.token(20), actor });

/** Metadata of an operator's action on the command line. */
export const operatorMetadata = (ids: Ids): EventMetadata => own(ids, { type: 'admin', id: 'operator' });

/** Metadata of an action that a service takes by itself. @param id of the part of the service */
export const systemMetadata = (ids: Ids, id: string): EventMetadata => own(ids, { type: 'system', id });
