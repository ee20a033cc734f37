package rtype

const slotSize = 8
