package rtype

const slotSize = 16
