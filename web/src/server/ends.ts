/** Whether a run with this status has ended. */
export const isEnd = (status: string): boolean => status === 'completed' || status === 'failed' || status === 'cancelled';
