import type { EventMetadata } from '../../schemas/events/event.ts';
import type { Ids } from '../primitives/ids.ts';

const own = (ids: Ids, actor: EventMetadata['actor']): EventMetadata => ({ correlationId: ids.token(20), actor });

/** Of what an operator does on the command line. */
export const operatorMetadata = (ids: Ids): EventMetadata => own(ids, { type: 'admin', id: 'operator' });

/** Of what a service does by itself. @param id of the part that does it */
export const systemMetadata = (ids: Ids, id: string): EventMetadata => own(ids, { type: 'system', id });
